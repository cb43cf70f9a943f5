"""Kernels: parameters, arrays, statements with domains and expressions, program order."""

from polysched.ir.isl_calls import replace_leaking_methods

replace_leaking_methods()
