"""Kernel IR: parameters, arrays, statements with domains and expressions, and the loop tree."""

from polysched.ir.isl_calls import replace_leaking_methods

replace_leaking_methods()
