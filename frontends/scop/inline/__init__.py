"""Inline calls of the functions that a file defines."""
