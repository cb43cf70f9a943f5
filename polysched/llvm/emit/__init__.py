"""Emission of vector IR nodes, functions and modules."""
