"""C frontend: translate the code between ``#pragma scop`` and ``#pragma endscop``, or a function.

::

    void scale(int n, double x[restrict n], double alpha)
    {
        for (int i = 0; i < n; i++)
            x[i] = alpha * x[i];
    }

:func:`load_c` reads a file, preprocessed or not. It returns the kernel and the C signature that the
compiled kernel needs to replace the function. The kernel has the semantics of C: integer promotion,
conversions, truncating division. Each operation rounds separately unless ``#pragma STDC FP_CONTRACT
ON`` lets ``a * b + c`` round once. A bound, subscript or condition that is not affine is an error,
and the message underlines it.

C promises less than a kernel needs, so three things are inferred: the shapes of pointers, from
their subscripts, where conditions on data limit what the code may touch; the sizes for which every
access stays within its array; and the arrays that may overlap. The compiled function checks the
last two at each call and runs the program as written if a check fails.
:func:`polysched.frontends.scop.regions.replacements_of` rewrites regions source to source.

:mod:`polysched.frontends.scop.translation` lists the stages in order. Integers that the region
does not write become parameters of the kernel; other scalars become arrays without dimensions.
Facts that C cannot express, such as array shapes, are given by pragmas:
:mod:`polysched.frontends.scop.source.pragmas`.
"""

from polysched.frontends.scop.program import CProgram, load_c, parse_c
from polysched.frontends.scop.source.promises import NO_PROMISES, Promises

__all__ = ["NO_PROMISES", "CProgram", "Promises", "load_c", "parse_c"]
