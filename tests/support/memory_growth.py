"""``python -m tests.support.memory_growth``: measure how the memory of a compiling process grows.

Each round makes a kernel with new sizes, names and literals, so no cache hides a leak. Warm-up
rounds, which fill the bounded caches, do not count.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import click
import numpy as np

from polysched.fuzz.exploring import Judges, explore
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.lower import lower
from polysched.machine.load import load_machine
from polysched.runtime.cache import ObjectCache
from polysched.user import Schedule

WARM_UP = 600
"""Warm-up rounds; enough to fill all caches, the largest of which keeps 512 relations."""

_PAGE = 4096


def declare(number: int) -> Kernel:
    """Declare a unique kernel; every second kernel has a parameter."""
    rows, columns = 16 + number % 97, 8 + number % 89
    build = KernelBuilder(f"kernel_{number}")
    if number % 2:
        build.parameter(f"n_{number}", minimum=1)
    x = build.input(f"x_{number}", f32, (rows + 1, columns + 1))
    y = build.output("y", f32, (rows, columns))
    with build.loops(i=rows, j=columns) as (i, j), build.statement("S"):
        y[i, j] = x[i, j] + x[i + 1, j + 1] * float(number)
    return build.kernel()


def check(number: int) -> Schedule:
    """Declare, tile and check a kernel."""
    schedule = Schedule(declare(number)).tile(("i", "j"), (4, 8))
    assert schedule.check().is_legal
    return schedule


def loops(number: int) -> Schedule:
    """Also generate the loops."""
    schedule = check(number)
    lower(schedule)
    return schedule


def compile(number: int) -> None:
    """Also generate machine code, which is neither cached on disk nor run."""
    loops(number).compile(cache=ObjectCache(None))


def run(number: int) -> None:
    """Also run the machine code."""
    kernel = loops(number).compile(cache=ObjectCache(None))
    shape = (17 + number % 97, 9 + number % 89)
    sizes = dict.fromkeys(kernel.signature.parameters, 3)
    kernel(np.zeros(shape, np.float32), **sizes)


def fuzz(number: int) -> None:
    """Fuzz one seed: generate a kernel and schedules, and judge them."""
    assert not explore(number, _JUDGES).found


_JUDGES = Judges(load_machine())

STAGES: Mapping[str, Callable[[int], object]] = MappingProxyType(
    {stage.__name__: stage for stage in (declare, check, loops, compile, run, fuzz)}
)


class _Heap(ctypes.Structure):
    """The C library's ``struct mallinfo2``."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks used free keepcost".split()
    )


def bytes_in_use() -> int:
    """Return the bytes allocated by ``malloc``, after a garbage collection.

    Unlike the resident size, they exclude free memory that the allocator retains.
    """
    gc.collect()
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = _Heap
    heap = library.mallinfo2()
    return int(heap.used + heap.hblkhd)


def bytes_resident() -> int:
    """Return the resident memory of the process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), default=10_000, show_default=True)
@click.option("--warm-up", type=click.IntRange(min=0), default=WARM_UP, show_default=True)
@click.option("--most", type=float, default=50.0, show_default=True, help="MB of growth allowed.")
@click.argument("stage", type=click.Choice(list(STAGES)), default="run")
def main(rounds: int, warm_up: int, most: float, stage: str) -> None:
    """Print the growth of the process in the given rounds; exit with 1 if it exceeds the limit."""
    work = STAGES[stage]
    for number in range(warm_up):
        work(number)
    start, resident = bytes_in_use(), bytes_resident()
    for number in range(warm_up, warm_up + rounds):
        work(number)
    used, grown = (bytes_in_use() - start) / 1e6, (bytes_resident() - resident) / 1e6
    click.echo(f"{stage}: {rounds:,} rounds, {used:.1f} MB of malloc, {grown:.1f} MB resident")
    sys.exit(1 if grown > most else 0)


if __name__ == "__main__":
    main()
