"""All small transposes: ``python -m tests.library.transpose.sweep``; too long for the test suite.

Every strategy, type, machine and size from 1 to 70 in each dimension, between forbidden pages.
``--part 0/2`` does the first half of the sizes, ``--every 7`` one of seven.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

from tests.library.transpose.copies import (
    DTYPES,
    LARGEST,
    MACHINES,
    STRATEGIES,
    assert_transposes,
    compiled,
)


def main() -> None:
    """Check the sizes of one part, and say how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="0/1", help="position/count, such as 0/2")
    parser.add_argument("--every", type=int, default=1, help="take one of so many sizes")
    options = parser.parse_args()
    position, count = map(int, options.part.split("/"))
    extents = range(1, LARGEST + 1)
    sizes = list(product(extents, extents))[position :: count * options.every]
    start = time.perf_counter()
    kinds = list(product(DTYPES, STRATEGIES, MACHINES, (False, True)))
    for dtype, strategy, machine, streamed in kinds:
        run = compiled(dtype, strategy, machine, streamed=streamed)
        for rows, columns in sizes:
            assert_transposes(run, rows, columns)
    copies = 4 * len(kinds) * len(sizes)
    print(f"{copies} copies right, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
