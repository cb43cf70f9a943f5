"""Kernels: parameters, arrays, statements with domains and expressions, program order."""
