"""All small products: ``python -m tests.library.matmul.sweep``; too long for the test suite.

Every m and n from 1 to 40 against the k of ``TERMS``: planned, proved, compiled, run on integers,
compared with numpy. ``--part 0/2`` does the first half of them, ``--transposed b`` those that are
stored transposed.
"""

from __future__ import annotations

import argparse
import time
from itertools import product as pairs

from polysched.library.matmul.kernel.declare import Sizes, matmul_kernel
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.planner import plan
from polysched.library.matmul.plan.problem import Problem
from tests.library.matmul.products import HOST, assert_product

TERMS = (1, 2, 15, 16, 17, 64, 127)
LARGEST = 40


def main() -> None:
    """Check the sizes of one part, and say how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="0/1", help="position/count, such as 0/2")
    parser.add_argument("--every", type=int, default=1, help="take one of so many sizes")
    parser.add_argument("--transposed", default="", choices=("", "a", "b", "ab"))
    options = parser.parse_args()
    position, count = map(int, options.part.split("/"))
    extents = range(1, LARGEST + 1)
    sizes = [Sizes(m, n, k) for k, m, n in pairs(TERMS, extents, extents)]
    chosen = sizes[position :: count * options.every]
    start = time.perf_counter()
    origins = {name: Stored(name in options.transposed) for name in "ab"}
    for one in chosen:
        assert_product(matmul_kernel(*one[:3], **origins), plan(Problem(one, **origins), HOST))
    print(f"{len(chosen)} products right, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
