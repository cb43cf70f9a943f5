"""Schedules: steps, the loop tree that they make, one file for each primitive."""
