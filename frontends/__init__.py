"""Frontends: other ways to write a kernel, each a translation into `polysched.ir.Kernel`.

To come: einsum expressions, C with `#pragma scop`, Python functions, Halide-style Funcs.
"""
