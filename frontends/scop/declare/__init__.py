"""Declare the variables that a region uses as sizes, arrays and scalars of its kernel."""
