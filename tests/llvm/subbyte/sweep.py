"""All odd types, sizes and machines: ``python -m tests.llvm.subbyte.sweep``; long.

Vectors of 1 to 70 elements of each type with 2, 16 and 64 lanes, and matrices of 1 to 70 rows and
columns, packed and unpacked by the code for each machine, compared with numpy.
"""

from __future__ import annotations

import time
from itertools import product

from polysched.ir.expr.dtypes import ODD_DTYPES
from polysched.machine.load import load_machine
from tests.llvm.subbyte.edges import LARGEST, MACHINES, check_matrices, check_vectors

LANES = (2, 16, 64)
MATRICES = ("u1", "i3", "i4", "u5", "i12", "u20")


def main() -> None:
    """Check all of them, and say how many there were."""
    start, count = time.perf_counter(), 0
    extents = range(1, LARGEST + 1)
    for machine in map(load_machine, MACHINES):
        for dtype, lanes in product(ODD_DTYPES, LANES):
            check_vectors(dtype, lanes, machine, extents)
            count += len(extents)
        for dtype, rows in product(ODD_DTYPES, ("padded", "contiguous")):
            if dtype.name in MATRICES:
                check_matrices(dtype, rows, machine, product(extents, extents))
                count += len(extents) ** 2
        print(f"{machine.name}: {count} sizes so far, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
