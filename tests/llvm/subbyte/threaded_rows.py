"""Threads that write packed rows of parametric lengths, compared with the reference bit by bit.

``python -m tests.llvm.subbyte.threaded_rows --seconds 120`` runs every legal case again and
again, on two and three threads, and compares each buffer of bytes with the reference. Every element
that the kernel leaves alone, in the same bytes or beside them, must keep its bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import click
import numpy as np

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import as_dtype, i32
from polysched.ir.expr.expressions import Expression, Parameter
from polysched.ir.expr.functions import cast
from polysched.ir.semantics.reference import run_reference
from polysched.legality.check import check
from polysched.lower import compile
from polysched.schedule.schedule import Schedule
from tests.support.differential import NO_CACHE, arguments, assert_equal

ROWS = 37
"""More than threads have chunks; the last chunk is shorter."""

Form: TypeAlias = Callable[[Parameter], Expression]

WIDTHS = (1, 2, 3, 4, 5, 7, 12)
FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "n": lambda n: n + 0,
        "2n+6": lambda n: 2 * n + 6,
        "4n": lambda n: 4 * n,
        "8n": lambda n: 8 * n,
        "8n+4": lambda n: 8 * n + 4,
    }
)
STEPS: Mapping[str, Callable[[Schedule], Schedule]] = MappingProxyType(
    {
        "plain": lambda schedule: schedule,
        "split": lambda schedule: schedule.split("j", 5),
        "vectors of 16": lambda schedule: schedule.vectorize("j", 16),
        "vectors of 64": lambda schedule: schedule.vectorize("j", 64),
        "unrolled vectors": lambda schedule: (
            schedule.split("j", 32).vectorize("ji", 8).unroll("ji")
        ),
        "rows in blocks": lambda schedule: schedule.split("i", 2).vectorize("j", 16),
    }
)


@dataclass(frozen=True)
class Case:
    """Rows of ``bits`` and a length, of which each iteration writes all but the ``margins``."""

    bits: int
    form: str
    margins: tuple[int, int]
    steps: str

    def schedule(self) -> Schedule:
        """``w[i, j + first] += x[i, j]``, with the rows in parallel."""
        build = KernelBuilder("threaded_rows")
        n = build.parameter("n", minimum=1)
        first, last = self.margins
        length = FORMS[self.form](n)
        dtype = as_dtype(f"u{self.bits}")
        x = build.input("x", i32, (ROWS, length))
        w = build.inout("w", dtype, (ROWS, length), rows="contiguous")
        with build.loops(i=ROWS, j=length - first - last) as (i, j):
            w[i, j + first] += cast(x[i, j], dtype)
        schedule = STEPS[self.steps](Schedule(build.kernel()))
        return schedule.parallel("io" if self.steps == "rows in blocks" else "i")


def cases(widths: tuple[int, ...] = WIDTHS) -> Iterator[Case]:
    """All cases; not all of them are legal."""
    for bits in widths:
        for form in FORMS:
            for margins in ((0, 0), (1, 0), (0, 3), (4, 4)):
                for steps in STEPS:
                    yield Case(bits, form, margins, steps)


def run_case(case: Case, sizes: tuple[int, ...], repetitions: int) -> int:
    """How often the machine code of a case has run, each time with the right result.

    0: the schedule is illegal, for two rows share a byte.
    """
    schedule = case.schedule()
    if not check(schedule).is_legal:
        return 0
    kernel, runs = schedule.kernel, 0
    compiled = compile(schedule, cache=NO_CACHE)
    for size in sizes:
        given = arguments(kernel, {"n": size}, seed=size)
        expected = run_reference(kernel, given, {"n": size})["w"]
        for repetition in range(repetitions):
            w = given["w"].copy()
            threads = 2 + repetition % 2
            compiled(x=given["x"], w=w, n=size, threads=threads)
            assert_equal({"w": w}, {"w": expected}, f"{case}, n={size}, {threads} threads")
            runs += 1
    return runs


@click.command()
@click.option("--seconds", type=float, default=60.0, show_default=True)
def main(seconds: float) -> None:
    """Run all legal cases until the time is over."""
    end, runs, legal, generator = (
        time.monotonic() + seconds,
        0,
        set[Case](),
        np.random.default_rng(0),
    )
    every = list(cases())
    while time.monotonic() < end:
        case = every[generator.integers(len(every))]
        sizes = tuple(map(int, generator.integers(4, 200, 2)))
        made = run_case(case, sizes, 40)
        runs += made
        legal |= {case} if made else set()
    click.echo(f"{runs:,} runs of {len(legal)} legal cases: all right")


if __name__ == "__main__":
    main()
