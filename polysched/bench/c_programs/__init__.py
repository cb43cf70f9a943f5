"""Races of C programs with C compilers."""
