"""Passes of the vector pipeline; each is a pure function from program to program."""
