"""Repeated calls by the C extension ``_call_table``, if it has been built.

The extension runs calls whose arrays have the layouts of a call that Python has planned. Without it
the same calls run in Python, some 3 microseconds slower each.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polysched.runtime.extension import EXTENSION
from polysched.runtime.jit import NativeFunction
from polysched.runtime.plan import Plan
from polysched.runtime.signature import Signature
from polysched.runtime.threads import run_on_team

if TYPE_CHECKING:
    from polysched.runtime._call_table import CallTable
    from polysched.runtime._call_table import KnownCalls as KnownCalls  # noqa: PLC0414  (exported)

NumpyArray = np.ndarray[Any, Any]

CALL_TABLE: type[CallTable] | None = None if EXTENSION is None else EXTENSION.CallTable
"""The extension's table of planned calls; None if calls run in Python."""

if not TYPE_CHECKING:

    class KnownCalls:
        """Callable objects without the extension: all calls are taken by ``_called``."""

        def __new__(cls, run: Callable[..., Any]) -> KnownCalls:
            """Make an object; the extension's class takes `run` of its table."""
            return object.__new__(cls)

        def __call__(self, *arguments: Any, **named: Any) -> Any:
            """Run a call."""
            return self._called(*arguments, **named)

    if EXTENSION is not None:
        KnownCalls = EXTENSION.KnownCalls


class PlannedCall(NamedTuple):
    """Call of machine code on arrays of known layouts, as the extension takes it.

    The *passed* arrays are the arguments, followed by the allocated outputs. Tuples of integers are
    given as the bytes of 64-bit integers.

    Attributes:
        address: of the function.
        owner: an object that keeps the function's code loaded.
        runner: runs the function on a list of addresses and returns its status; None to call the
            function directly.
        sources: for each array of the kernel, its position among the passed arrays.
        results: the positions of the results among the passed arrays.
        overlaps: the pairs of arrays of the kernel that must not overlap, as ``OverlapCheck``.
        written: bit ``i`` is set if the kernel writes passed array ``i``.
        allocations: functions that allocate the outputs that are left out.
        check: checks the arguments' values before the function runs. It takes the tuple of the
            arguments and raises an error; None if there is no check.
        finish: makes the result from the tuple of the passed objects; None to return the
            ``results``.
    """

    address: int
    owner: object
    runner: Callable[[list[int]], int] | None
    sources: bytes
    parameters: bytes
    results: bytes
    overlaps: bytes
    written: int
    allocations: tuple[Callable[[], NumpyArray], ...]
    check: Callable[[tuple[Any, ...]], None] | None = None
    finish: Callable[[tuple[Any, ...]], Any] | None = None


def planned_call(
    native: NativeFunction,
    signature: Signature,
    plan: Plan,
    results: Iterable[int],
    allocations: Sequence[Callable[[], NumpyArray]] = (),
) -> PlannedCall:
    """Describe a call that runs in the calling thread.

    Args:
        plan: of the call, without index arrays.
        results: the positions of the results among the passed arrays.
        allocations: functions that allocate the outputs that are left out.
    """
    address = ctypes.cast(native.call, ctypes.c_void_p).value  # type: ignore[arg-type]
    assert address is not None
    written = {s for a, s in zip(signature.arrays, plan.sources, strict=True) if a.is_written}
    return PlannedCall(
        address,
        native.call,
        None,
        _packed(plan.sources),
        _packed(plan.parameters),
        _packed(results),
        b"".join(map(_packed, plan.overlaps)),
        sum(1 << source for source in written),
        tuple(allocations),
    )


def on_team(
    call: PlannedCall, native: NativeFunction, plan: Plan, threads: int | None
) -> PlannedCall:
    """The call run by a team of threads; None for the call's share of the usable cores."""
    run = partial(run_on_team, native.call, parameters=plan.parameters, threads=threads)
    return call._replace(runner=run)


def _packed(numbers: Iterable[int]) -> bytes:
    return np.array(list(numbers), np.int64).tobytes()
