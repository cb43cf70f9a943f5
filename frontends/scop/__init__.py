"""C loops as kernels: the region between ``#pragma scop`` and ``#pragma endscop``, or a function.

::

    void scale(int n, double x[restrict n], double alpha)
    {
        for (int i = 0; i < n; i++)
            x[i] = alpha * x[i];
    }

:func:`load_c` reads a file, preprocessed or not, and gives the kernel and what is needed to take
the function's place in its program. The kernel computes what C says: integer promotion,
conversions, truncating division; each operation rounds by itself unless ``#pragma STDC FP_CONTRACT
ON`` says that ``a * b + c`` may round once. What is not affine is refused, and the message
underlines it.

The order of the work is the order of :mod:`polysched.frontends.scop.program`. Integers that the
region does not write become parameters of the kernel, other numbers arrays without dimensions. What
C cannot say stands in pragmas, see :mod:`polysched.frontends.scop.pragmas`.
"""

from polysched.frontends.scop.program import CProgram, load_c, parse_c

__all__ = ["CProgram", "load_c", "parse_c"]
