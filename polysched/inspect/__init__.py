"""Inspection: instruction counts of assembly, and the fit of vectors to a machine."""
