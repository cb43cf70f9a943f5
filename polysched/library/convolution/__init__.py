"""Schedules and calls of convolutions."""
