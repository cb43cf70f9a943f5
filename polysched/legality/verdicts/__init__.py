"""Verdicts, and witnesses confirmed by plain arithmetic."""
