"""Calls of isl: quotas, time limits, and replacements of calls that leak."""
