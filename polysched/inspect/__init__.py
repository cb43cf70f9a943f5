"""Inspection: what the assembly of a kernel contains, and how its vectors fit the machine."""
