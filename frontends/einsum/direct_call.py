"""Direct calls: repeated contractions call their only kernel on the operands.

The call target is derived from an observed call. If a contraction ran exactly one kernel, on the
operands without copying them, and the kernel wrote the result, then every call with arrays of the
same types, shapes and strides runs the same kernel, because the plan depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polysched.frontends.einsum.operands import NumpyArray
from polysched.runtime.call_cache import CallTarget
from polysched.runtime.kernel import CompiledKernel


@dataclass(frozen=True)
class KernelRun:
    """Record of one run of a kernel.

    Attributes:
        operands: the arrays that it read.
        result: the array that it wrote.
        target: makes the call target for arguments in the order operands, result; None if the
            kernel alone does not compute the result.
    """

    operands: tuple[NumpyArray, ...]
    result: NumpyArray
    target: Callable[[], CallTarget | None]


def kernel_run(
    kernel: CompiledKernel, operands: tuple[NumpyArray, ...], result: NumpyArray
) -> KernelRun:
    """Record the run, on all usable cores, of a kernel of literal sizes with the result last."""

    target = CallTarget(kernel, tuple(range(len(operands) + 1)))
    return KernelRun(operands, result, lambda: target)


def direct_call(
    arguments: Sequence[NumpyArray],
    origins: Sequence[int],
    result: NumpyArray,
    runs: Sequence[KernelRun],
) -> CallTarget | None:
    """The call target for later calls with such operands; None if one kernel call is not enough.

    Args:
        arguments: the operands of the observed call.
        origins: the positions in ``arguments`` of the only step's operands; empty if there are
            several steps.
        result: the result of the observed call.
        runs: all kernels that the call has run.
    """
    if len(runs) != 1 or not result.flags.c_contiguous:
        return None
    (run,) = runs
    read = (arguments[origin] for origin in origins)
    pairs = ((run.result, result), *zip(run.operands, read, strict=True))
    if any(_start(own) != _start(passed) for own, passed in pairs):  # an array was copied
        return None
    target = run.target()
    if target is None or run.result.nbytes != result.nbytes:
        return None
    places = (*origins, len(arguments))
    return replace(
        target,
        sources=tuple(places[source] for source in target.sources),
        allocate=(np.empty, (result.shape, result.dtype)),
    )


def _start(array: NumpyArray) -> int:
    return int(array.ctypes.data)
