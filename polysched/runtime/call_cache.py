"""Cache of library calls: from the layouts of a call's arrays to the kernel that computes it.

A library function such as ``matmul`` decides from the options and the arrays' layouts which kernel
it runs and on which views of the arrays. The first call of a kind makes the decision and adds its
outcome to the cache. Later calls of this kind run the kernel on their arrays directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.ir.core.strides import elements_spanned
from polysched.runtime.array_layout import ALIGNED, has_buffer, is_simple, layout_of
from polysched.runtime.buffers import buffer_type
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.native_calls import CALL_TABLE, PlannedCall, on_team, planned_call
from polysched.runtime.plan import Plan, overlaps

NumpyArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CallTarget:
    """The kernel that one kind of library call runs, and its arguments.

    Attributes:
        sources: for each array of the kernel, its position among the call's arrays.
        threads: the number of threads; None for the call's share of the usable cores.
        allocate: a function and its arguments that allocate the last array if the call leaves it
            out.
    """

    kernel: CompiledKernel
    sources: tuple[int, ...]
    parameters: tuple[int, ...] = ()
    threads: int | None = None
    allocate: tuple[Callable[..., NumpyArray], tuple[Any, ...]] | None = None


class CallCache:
    """Cache of the kinds of calls of one library function.

    ``run(options, *arrays)`` runs a call of a known kind and returns its last array, the result.
    ``options`` is everything that the kind depends on apart from the arrays; it is hashable. The
    last array is None for a result to be allocated. ``run`` returns None, with nothing written, if
    no such call has been added or if the result overlaps an operand.

    Args:
        size: the number of kinds that are kept. A full cache is emptied.

    Attributes:
        run: the function described above: the C extension's if that has been built.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: dict[Any, tuple[CallTarget, Plan]] = {}
        self.run: Callable[..., NumpyArray | None] = self._run
        self._call_table = None if CALL_TABLE is None else CALL_TABLE(size, self._run)
        if self._call_table is not None:
            self.run = self._call_table.run

    def _run(self, options: Any, *arrays: Any) -> NumpyArray | None:
        given = arrays if arrays[-1] is not None else arrays[:-1]
        for array in given:
            if type(array) is not np.ndarray:
                return None
        entry = self._entries.get((options, len(arrays), *map(layout_of, given)))
        if entry is None:
            return None
        target, plan = entry
        if given is not arrays and target.allocate is not None:
            allocate, arguments = target.allocate
            arrays = (*given, allocate(*arguments))
        try:
            target.kernel.run_plan(plan, arrays, target.threads)
        except CallError:  # the caller names its own arrays in the error
            return None
        result: NumpyArray = arrays[-1]
        return result

    def add(self, options: Any, arrays: Sequence[NumpyArray | None], target: CallTarget) -> None:
        """Add a call that has been checked and computed.

        Arrays with negative strides and arrays that are empty or misaligned are not added.

        Args:
            options: as for :meth:`run`.
            arrays: as for :meth:`run`.
            target: the function that calls with such options and arrays run.
        """
        given = [array for array in arrays if array is not None]
        if (len(given) < len(arrays) and target.allocate is None) or not all(map(_is_plain, given)):
            return
        signature = target.kernel.signature
        sizes = {
            array.name: _bytes_spanned(given[source])
            for array, source in zip(signature.arrays, target.sources, strict=True)
            if source < len(given)
        }
        layouts = list(map(layout_of, given))
        omitted = (
            has_buffer(buffer_type(array))
            for array, source in zip(signature.arrays, target.sources, strict=True)
            if source >= len(given)
        )
        simple = (*map(is_simple, layouts), *omitted)
        plan = Plan(target.sources, simple, target.parameters, overlaps(signature, sizes))
        if len(self._entries) >= self._size:
            self._entries.clear()
            if self._call_table is not None:
                self._call_table.clear()
        self._entries[options, len(arrays), *layouts] = target, plan
        if self._call_table is not None:
            planned = partial(_planned_call, target, plan, arrays)
            self._call_table.add(options, tuple(arrays), planned)


def _planned_call(
    target: CallTarget, plan: Plan, arrays: Sequence[NumpyArray | None]
) -> PlannedCall:
    kernel, allocations = target.kernel, []
    result = len(arrays) - 1
    if arrays[result] is None and target.allocate is not None:
        allocate, arguments = target.allocate
        allocations.append(partial(allocate, *arguments))
        # Allocated arrays come after the arguments, of which the last one is None.
        sources = tuple(source + (source == result) for source in plan.sources)
        plan, result = replace(plan, sources=sources), result + 1
    call = planned_call(kernel.native, kernel.signature, plan, [result], allocations)
    return on_team(call, kernel.native, plan, target.threads) if kernel.is_threaded else call


def _is_plain(array: NumpyArray) -> bool:
    return (
        type(array) is np.ndarray
        and array.size > 0
        and bool(array.flags.num & ALIGNED)
        and min(array.strides, default=0) >= 0
    )


def _bytes_spanned(array: NumpyArray) -> int:
    return elements_spanned(array.shape, array.strides) + array.itemsize - 1
