"""Judges of a schedule that do not use the checker's analysis."""
