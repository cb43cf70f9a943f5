"""Kernels, arrays, loop trees: the declared program as a value."""
