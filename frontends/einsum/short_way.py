"""The short way: what later calls of a kind run, where one kernel does it all.

Which kernel that is, and what it reads, is seen when a contraction has been computed: if one kernel
has run, on the operands as they lie, and the result is what it wrote, then every call with arrays
of these types, shapes and strides comes to the same, for nothing else decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polysched.frontends.einsum.operands import NumpyArray
from polysched.runtime.door import Target
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.threads import current_team


@dataclass(frozen=True)
class Ran:
    """A kernel that a step has run.

    Attributes:
        operands: what it was given, its result apart.
        result: what it wrote.
        target: what calls run that give it such operands and then their result, if they need no
            more than that.
    """

    operands: tuple[NumpyArray, ...]
    result: NumpyArray
    target: Callable[[], Target | None]


def ran_kernel(kernel: CompiledKernel, operands: tuple[NumpyArray, ...], result: NumpyArray) -> Ran:
    """A kernel of literal sizes, whose result comes last, has run on all usable cores."""

    def target() -> Target:
        count = len(operands)
        return Target(
            kernel.native.call,
            sources=tuple(range(count + 1)),
            values=(current_team().address, 0) if kernel.is_threaded else (),
            threads_at=1 if kernel.is_threaded else None,
            written=(count,),
            result=count,
        )

    return Ran(operands, result, target)


def short_way(
    given: Sequence[NumpyArray], origins: Sequence[int], found: NumpyArray, ran: Sequence[Ran]
) -> Target | None:
    """What a call with such operands, then perhaps an array for its result, runs at once.

    Args:
        given: the operands of the call, as they were given.
        origins: which of these the operands of the only step are, if there is but one.
        found: what the call has computed from them.
        ran: all that has run.
    """
    if len(ran) != 1 or not found.flags.c_contiguous:
        return None
    (own,) = ran
    pairs = ((own.result, found), *zip(own.operands, (given[one] for one in origins), strict=True))
    if any(_start(one) != _start(other) for one, other in pairs):  # something has been copied
        return None
    target = own.target()
    if target is None or own.result.nbytes != found.nbytes:
        return None
    last = len(given)
    places = (*origins, last)
    return replace(
        target,
        sources=tuple(places[source] for source in target.sources),
        written=(last,),
        result=last,
        allocate=(np.empty, (found.shape, found.dtype)),
    )


def _start(array: NumpyArray) -> int:
    return int(array.ctypes.data)
