"""Schedules: the scheduling primitives, one file each, and the programs that they make."""
