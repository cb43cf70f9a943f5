"""The program under a schedule, and checks of the arguments of steps."""
