"""Load the TARGET of a command, and the schedule that its options name."""
