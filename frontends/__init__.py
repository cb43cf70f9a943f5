"""Frontends: source languages and APIs that are translated into a `polysched.ir.Kernel`.

======== ======================================================= ==================================
package  input                                                   entry point
======== ======================================================= ==================================
scop     C text with ``#pragma scop``                            ``polysched check kernel.c``
python   functions over numpy arrays                             ``@polysched.jit``, ``.kernel``
einsum   contractions such as ``"bij,bjk->bik"``                 ``polysched.einsum``
linalg   affine maps and iterator types, as in MLIR              ``linalg.generic``
halide   Func, Var, RDom and directives, as in Halide            ``halide.Pipeline``
======== ======================================================= ==================================
"""
