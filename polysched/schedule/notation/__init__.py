"""Schedules as text: printing, parsing and schedule files."""
