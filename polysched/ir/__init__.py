"""Kernel IR: parameters, arrays, statements with domains and expressions, and the loop tree."""

from polysched.ir.isl.isl_calls import replace_leaking_methods

replace_leaking_methods()
