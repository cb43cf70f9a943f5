"""Translate Python and numpy expressions to values of a kernel."""
