"""Benchmark of products of shapes that were not multiplied before: ``bench matmul --random``."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from polysched.bench.matmul import MatmulData, MatmulSize, random_data
from polysched.bench.measure.contestant import optional_module
from polysched.bench.measure.race import Clock
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.dispatch.dispatch import dispatch
from polysched.library.matmul.dispatch.views import operand_of
from polysched.library.matmul.generic.compiled import KernelLoader, object_folder
from polysched.library.matmul.generic.plan import Planner
from polysched.library.matmul.generic.run import loaded_product, strided
from polysched.machine.load import load_machine

SMALLEST, LARGEST = 16, 2048
"""Extents are drawn between these, evenly in their logarithm."""

MOST_FLOPS = 2_000_000_000
"""Larger products are left out: they say nothing about planning, and take most of the time."""

_ROUNDS = 9
_SHORTEST = 2e-4  # seconds of a measurement: shorter calls are repeated


@dataclass(frozen=True)
class NewShape:
    """Times of one shape, in seconds.

    Attributes:
        kernel: the sizes.
        first: the first call, by generic kernels.
        later: a later call by generic kernels.
        generic: the generic kernels alone, with bound arguments.
        specialized: the specialized kernel alone.
        numpy_first: numpy's first call.
    """

    kernel: str
    first: float
    later: float
    generic: float
    specialized: float
    numpy_first: float


@dataclass(frozen=True)
class Summary:
    """Summary over all shapes.

    Attributes:
        mean: the specialized code's time over the generic kernels', in the geometric mean.
        lowest: the lowest of these ratios, and ``slowest``, its shape.
        slowest: the shape of the lowest ratio.
        overhead: the median of the seconds that a first call takes beyond a later one.
        total: seconds of all first calls.
        numpy_total: seconds of all first calls of numpy.
    """

    shapes: int
    mean: float
    lowest: float
    slowest: str
    overhead: float
    total: float
    numpy_total: float


def random_sizes(count: int, seed: int) -> Iterator[MatmulSize]:
    """Different sizes, drawn evenly in their logarithm."""
    generator, seen = random.Random(seed), set[MatmulSize]()
    ends = math.log2(SMALLEST), math.log2(LARGEST)
    while len(seen) < count:
        size = MatmulSize(*(round(2 ** generator.uniform(*ends)) for _ in "mnk"))
        if size.flops <= MOST_FLOPS and size not in seen:
            seen.add(size)
            yield size


def prepare(sizes: Sequence[MatmulSize], dtype: npt.DTypeLike, threads: int) -> None:
    """Limit numpy's threads, and have the generic kernels of the sizes made and loaded.

    They are made once for a machine and kept on disk. Sizes with one more term need the same.

    Raises:
        UnavailableError: threadpoolctl is missing, so BLAS could not be told.
    """
    optional_module("threadpoolctl").ThreadpoolController().limit(limits=threads, user_api="blas")
    for size in sizes:
        longer = MatmulSize(size.m, size.n, size.k + 1)
        data = random_data(longer, dtype)
        matmul(data.a, data.b, data.output(), threads=threads, specialize=False)


def first_calls(
    data: MatmulData, threads: int, clock: Clock, *, is_odd: bool
) -> tuple[float, float, float]:
    """The seconds of the first call of a shape, of a later one, and of numpy's first call.

    Of ``is_odd`` ones, numpy runs first.
    """
    out = data.output(), data.output()
    calls: list[Callable[[], object]] = [
        partial(matmul, data.a, data.b, out[0], threads=threads),
        partial(np.matmul, data.a, data.b, out[1]),
    ]
    order = [1, 0] if is_odd else [0, 1]
    seconds = {at: _timed(calls[at], 1, clock) for at in order}
    later = min(_timed(calls[0], 1, clock) for _ in range(2))
    return seconds[0], later, seconds[1]


def kernel_times(data: MatmulData, threads: int, dtype: DType, clock: Clock) -> tuple[float, float]:
    """The seconds of the generic kernels and of the specialized one, with bound arguments.

    Both run in turn. The times of the round with the median ratio are returned, because other work
    on the machine slows both runs of a round alike.
    """
    out, host = data.output(), load_machine()
    strides = data.a.strides, data.b.strides, out.strides
    product = strided(dtype.bytes, (*out.shape, data.a.shape[1]), *strides)
    plan = None if product is None else Planner(host, dtype).plan(product, threads)
    target = dispatch(operand_of(data.a), operand_of(data.b), threads).direct_call
    assert product is not None
    assert plan is not None
    assert target is not None
    generic = loaded_product(plan, dtype.bytes, threads, KernelLoader(host, object_folder))
    addresses = [array.ctypes.data for array in (data.a, data.b, out)]
    arrays = [(data.a, data.b, data.output())[source] for source in target.sources]
    options = {"threads": threads} if target.kernel.is_threaded else {}
    is_short = len(generic.parts) == 1 and not generic.scratch
    own = generic.bound(*addresses) if is_short else partial(generic.run, *addresses)
    calls: list[Callable[[], object]] = [own, target.kernel.bind(*arrays, **options)]
    for call in calls:
        call()
    repeats = [max(1, math.ceil(_SHORTEST / max(_timed(call, 1, clock), 1e-7))) for call in calls]
    rounds = [
        [_timed(call, count, clock) for call, count in zip(calls, repeats, strict=True)]
        for _ in range(_ROUNDS)
    ]
    generic_time, own_time = sorted(rounds, key=lambda times: times[1] / times[0])[_ROUNDS // 2]
    return generic_time, own_time


def _timed(call: Callable[[], object], repeats: int, clock: Clock) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def summary(shapes: Sequence[NewShape]) -> Summary:
    """Summarize at least one shape."""
    ratios = {shape.kernel: shape.specialized / shape.generic for shape in shapes}
    slowest = min(ratios, key=ratios.__getitem__)
    return Summary(
        len(shapes),
        statistics.geometric_mean(ratios.values()),
        ratios[slowest],
        slowest,
        statistics.median(shape.first - shape.later for shape in shapes),
        sum(shape.first for shape in shapes),
        sum(shape.numpy_first for shape in shapes),
    )


def measured(
    sizes: Sequence[MatmulSize],
    dtype: npt.DTypeLike,
    threads: int,
    clock: Clock,
    progress: Callable[[str], None],
) -> list[NewShape]:
    """Measure all first calls in a row, then the kernels of each shape.

    Operands are made just before a first call, so the operands of no other call are in the cache.
    """
    prepare(sizes, dtype, threads)
    first = []
    for number, size in enumerate(sizes):
        progress(f"{size}: first call")
        first.append(first_calls(random_data(size, dtype), threads, clock, is_odd=number % 2 == 1))
    shapes = []
    for size, (own, later, numpy) in zip(sizes, first, strict=True):
        progress(f"{size}: kernels")
        times = kernel_times(random_data(size, dtype), threads, as_dtype(np.dtype(dtype)), clock)
        shapes.append(NewShape(str(size), own, later, *times, numpy))
    return shapes
