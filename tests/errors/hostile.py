"""Hostile programs: each calls all functions of polysched, in a process of its own.

Run as ``python -m tests.errors.hostile NAME...``: it prints the errors that polysched raises. Any
other outcome is a defect. ``python -m tests.errors.hostile NAME... --share 0.1`` uses a tenth of
isl's time limits; the limits on operations stay.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial, reduce
from typing import Any

import polysched as ps
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.isl import quota
from polysched.ir.isl.budget import DEFAULT_SECONDS
from polysched.ir.isl.deadline import deadline


def nest(depth: int, size: int | None = None) -> ps.Kernel:
    """A nest in which everything depends on everything."""
    build = ps.KernelBuilder("nest")
    extent: Any = build.parameter("n", minimum=1) if size is None else size
    y = build.inout("y", ps.i32, (extent, extent))
    with build.loops(**{f"i{number}": extent for number in range(depth)}):
        y[Index("i0"), Index(f"i{depth - 1}")] = y[Index(f"i{depth - 1}"), Index("i0")] + 1
    return build.kernel()


def under(condition: Callable[[Expression, Expression], Expression]) -> ps.Kernel:
    """Two loops under a condition."""
    build = ps.KernelBuilder("under")
    n = build.parameter("n", minimum=1)
    y = build.inout("y", ps.i32, (n,))
    with build.loops(i=n, j=n) as (i, j), build.where(condition(i, j)):
        y[i] = y[j] + 1
    return build.kernel()


def nested_splits(count: int, factor: int) -> ps.Schedule:
    schedule, loop = ps.Schedule(nest(2)), "i0"
    for number in range(count):
        schedule = schedule.split(loop, factor, into=(f"o{number}", f"p{number}"))
        loop = f"o{number}"
    return schedule


def many_tiles() -> ps.Schedule:
    schedule, loops = ps.Schedule(nest(4)), ("i0", "i1", "i2", "i3")
    for level in range(10):
        outer = tuple(f"o{level}_{loop}" for loop in loops)
        schedule = schedule.tile(loops, (2, 3, 5, 7), outer, tuple(f"p_{one}" for one in outer))
        loops = outer
    return schedule


def huge_bounds() -> ps.Schedule:
    build = ps.KernelBuilder("huge")
    x, y = build.input("x", ps.i32, (10,)), build.inout("y", ps.i32, (10,))
    with build.loops(i=(-(2**63), 2**63 - 1)) as i:
        y[i % 10] = y[(3 * i) % 10] + x[i // 2 % 10]
    return ps.Schedule(build.kernel()).split("i", 2**40).vectorize("ii", 8).reverse("io")


def huge_coefficients() -> ps.Schedule:
    factor = 2**62 - 1
    kernel = under(lambda i, j: (factor * i + (factor - 2) * j) % 7 <= (factor - 4) * i // 5 % 3)
    return ps.Schedule(kernel).tile(("i", "j"), (2**31, 7))


def skewed_and_tiled() -> ps.Schedule:
    schedule = ps.Schedule(nest(3)).skew("i1", "i0", 2**30).skew("i2", "i1", -(2**30))
    return schedule.tile(("i0", "i1", "i2"), (2**20, 3, 2**19)).split("i0i", 77)


def joined(conditions: int) -> ps.Schedule:
    return ps.Schedule(
        under(
            lambda i, j: reduce(
                Expression.__and__,
                [(i <= 3 * k + j) | (j >= 5 * k - 2 * i) for k in range(conditions)],
            )
        )
    )


def remainders(count: int) -> ps.Schedule:
    def condition(i: Expression, j: Expression) -> Expression:
        value = i
        for number in range(count):
            value = (3 * value + j) // (number + 2) + value % (number + 3)
        return value <= 100

    return ps.Schedule(under(condition))


def unrolled() -> ps.Schedule:
    schedule = ps.Schedule(nest(3))
    for number in range(3):
        schedule = schedule.unroll(f"i{number}", factor=1024)
    return schedule


CASES: dict[str, Callable[[], ps.Schedule]] = {
    "dimensions": lambda: ps.Schedule(nest(40)),
    "dimensions beyond all": lambda: ps.Schedule(nest(2000)),
    "splits": lambda: nested_splits(60, 2),
    "splits beyond 64 bits": lambda: nested_splits(60, 2**40),
    "splits beyond all": lambda: nested_splits(2000, 1),
    "tiles": many_tiles,
    "bounds": huge_bounds,
    "coefficients": huge_coefficients,
    "skews": skewed_and_tiled,
    "conditions": lambda: joined(24),
    "remainders": lambda: remainders(7),
    "copies": unrolled,
}


def attempt(action: Callable[[], object]) -> object:
    """Do it; an error of polysched is printed, and None returned."""
    try:
        return action()
    except ps.PolyschedError as error:
        print(f"{type(error).__name__}: {error}")
        return None


def shorten(share: float) -> None:
    """Have isl take a share of each time that it is given for one question."""

    def shorter(seconds: float) -> AbstractContextManager[None]:
        return deadline(share * seconds)

    quota.deadline = shorter


def ask(name: str, share: float) -> None:
    """Ask everything of one case, with a share of the time."""
    print(f"case: {name}", flush=True)
    schedule = attempt(CASES[name])
    if isinstance(schedule, ps.Schedule):
        verdict = ps.check(schedule)
        print(verdict.kind.value)
        attempt(lambda: ps.explain_loops(schedule, seconds=share * DEFAULT_SECONDS))
        for stage in ("domain", "deps", "schedule", "llvm"):
            attempt(partial(ps.show, schedule, stage))
        if verdict.is_legal:
            attempt(lambda: ps.compile(schedule))


def main() -> None:
    """Ask everything of the cases that are named, one after another."""
    parser = ArgumentParser()
    parser.add_argument("names", nargs="+", choices=CASES)
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    shorten(given.share)
    for name in given.names:
        ask(name, given.share)
    print("alive")


if __name__ == "__main__":
    main()
