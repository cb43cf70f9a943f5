"""Every float32, or as many float64 as asked for, through the elementary functions.

    python -m tests.llvm.math.sweep [--step 1] [--part 0] [--parts 1] [--million 10] [NAME]

Prints the largest error of each function, in units of the last place, and where it is. Of float32
every `step`-th pattern of bits is tried, and of the blocks of these those of one part; all of them
take some minutes a function.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.memory import AnyArray
from tests.llvm.math.judging import EXACT, FULL_VECTOR, errors, of

BLOCK = 1 << 22
RANGES = ((-1.1, 1.1), (0.5, 2.0), (0.99, 1.01), (-20, 20), (-750, 750), (0, 1e5), (-2e6, 2e6))


def patterns(step: int, part: int, parts: int) -> Iterator[AnyArray]:
    """Every `step`-th float32, NaN among them; of its blocks every one that belongs to the part."""
    for first in range(BLOCK * step * part, 1 << 32, BLOCK * step * parts):
        numbers = np.arange(first, min(first + BLOCK * step, 1 << 32), step, dtype=np.uint64)
        yield numbers.astype(np.uint32).view(np.float32)


def samples(million: int) -> Iterator[AnyArray]:
    """Random float64: of any bits, of all magnitudes, and spread evenly over ranges."""
    generator = np.random.default_rng(million)
    for _ in range(million):
        yield generator.integers(0, 1 << 64, 1_000_000, dtype=np.uint64).view(np.float64)
        yield np.exp2(generator.uniform(-60, 20, 1_000_000)) * generator.choice([-1, 1], 1_000_000)
        for lowest, highest in RANGES:
            yield generator.uniform(lowest, highest, 1_000_000)


def largest(operator: Operator, dtype: DType, numbers: Iterator[AnyArray]) -> tuple[float, float]:
    """The largest error, and the argument that has it.

    Raises:
        AssertionError: scalar code gives other bits.
    """
    worst = (0.0, 0.0)
    for x in numbers:
        got = of(operator, x, dtype, FULL_VECTOR[dtype])
        np.testing.assert_array_equal(of(operator, x, dtype, None), got)
        found = errors(operator, x, got, dtype)
        place = int(found.argmax())
        worst = max(worst, (float(found[place]), float(x[place])))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[operator.value for operator in EXACT])
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--million", type=int, default=10)
    given = parser.parse_args()
    for name in given.names:
        for dtype in (f32, f64):
            numbers = samples(given.million)
            if dtype is f32:
                numbers = patterns(given.step, given.part, given.parts)
            with np.errstate(all="ignore"):
                error, at = largest(Operator(name), dtype, numbers)
            print(f"{name} {dtype}: {error:.3f} at {at!r} ({at.hex()})", flush=True)


if __name__ == "__main__":
    main()
