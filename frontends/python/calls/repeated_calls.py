"""Repeated calls of compiled Python functions by the C extension, if it has been built."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polysched.errors import SubscriptError
from polysched.frontends.python.calls.returns import Result, ResultKind, Returned
from polysched.ir.expr.dtypes import f64
from polysched.runtime.kernel import CompiledKernel, NumpyArray, allocated
from polysched.runtime.native_calls import CALL_TABLE, PlannedCall, on_team, planned_call
from polysched.runtime.plan import Allocation, Plan
from polysched.runtime.views import as_array

if TYPE_CHECKING:
    from polysched.runtime._call_table import CallTable

_KINDS = 256
"""Combinations of types, shapes and integers whose calls a function keeps."""


class RepeatedCalls:
    """Table of the calls of one function whose arguments have been checked.

    A call's key are the names of its arguments by name, the layouts of its arrays and numpy
    scalars, and the values of its integers. Floats and booleans are passed by value.

    Attributes:
        run: runs a call with the names and all arguments; ``NotImplemented`` if it is not known.
    """

    def __init__(self) -> None:
        self._table: CallTable | None = None if CALL_TABLE is None else CALL_TABLE(_KINDS, _unknown)
        self.run = _unknown if self._table is None else self._table.run

    def add(self, names: tuple[str, ...], given: tuple[Any, ...], call: RepeatedCall) -> None:
        """Add a call that has been checked and run; calls that need a conversion are not added."""
        if self._table is None:
            return
        if any(value is None or isinstance(value, str | tuple) for value in given):
            return
        signature = call.kernel.signature
        for name in signature.parameters:
            position = call.positions.get(name)
            if position is not None and type(given[position]) is not int:
                return  # the table compares the values of Python's integers only
        for array in signature.arrays:
            position = call.positions.get(array.name)
            if position is None:  # the value of a default
                return
            value = given[position] if position < len(given) else None
            if isinstance(value, float) and array.dtype != f64:
                return
        self._table.add(names, given, call.planned)


WORTH_ALIGNING = 16 * 1024
"""Smallest output, in bytes, for which aligned memory is worth the 1.3 us that it takes.

A vector that crosses a cache line costs a cycle: 256 vectors take 0.07 us longer.
"""


@dataclass(frozen=True)
class RepeatedCall:
    """A call as the C extension takes it.

    Attributes:
        plan: of the call, whose outputs are all allocated.
        positions: the positions of arguments and outputs among the passed objects.
        threads: the number of threads; None for all.
        axes: as for `returned_values`.
    """

    kernel: CompiledKernel
    plan: Plan
    returned: Returned
    positions: Mapping[str, int]
    threads: int | None
    axes: Mapping[str, tuple[int, ...]]

    def planned(self) -> PlannedCall:
        """The description of the call for the extension."""
        signature, at = self.kernel.signature, self.positions
        sources = tuple(at[array.name] for array in signature.arrays)
        ranges = tuple(range_._replace(source=at[range_.name]) for range_ in self.plan.ranges)
        moved = replace(self.plan, sources=sources, ranges=ranges)
        results = self.returned.results
        arrays = (ResultKind.ARRAY, ResultKind.ARGUMENT)
        is_plain = self.returned.outside is None and all(
            result.kind in arrays for result in results
        )
        is_plain = is_plain and all(result.ends is None for result in results)
        is_plain = is_plain and (len(results) > 1 or not self.returned.is_tuple)
        call = planned_call(
            self.kernel.native,
            signature,
            moved,
            [at[result.name] for result in results] if is_plain else [],
            [_allocation(self.kernel.name, allocation) for allocation in self.plan.allocations],
        )
        if self.kernel.is_threaded:
            call = on_team(call, self.kernel.native, moved, self.threads)
        return call._replace(
            check=partial(self.kernel.check_values, moved) if ranges else None,
            finish=None if is_plain else self._finish(),
        )

    def _finish(self) -> Callable[[Sequence[Any]], Any]:
        """The function from the passed objects and the outputs to the result of a call."""
        number = self._only_number()
        if number is not None:
            at, is_python = number
            return lambda passed: passed[at].item() if is_python else passed[at][()]
        names = {result.name for result in self.returned.results} | {*self.returned.outputs}
        positions = {name: self.positions[name] for name in names}
        sizes = dict(zip(self.kernel.signature.parameters, self.plan.parameters, strict=True))

        def finish(passed: Sequence[Any]) -> Any:
            objects = {name: passed[at] for name, at in positions.items()}
            return returned_values(self.returned, objects, sizes, self.axes)

        return finish

    def _only_number(self) -> tuple[int, bool] | None:
        """The position of the only result, if it is a number, and whether it is a Python number."""
        returned = self.returned
        if len(returned.results) != 1 or returned.is_tuple or returned.outside is not None:
            return None
        result = returned.results[0]
        is_output = any(result.name == output.name for output in self.plan.allocations)
        is_number = result.kind in (ResultKind.NUMPY_NUMBER, ResultKind.PYTHON_NUMBER)
        if not (is_output and is_number) or result.view is not None or result.ends is not None:
            return None
        return self.positions[result.name], result.kind is ResultKind.PYTHON_NUMBER


def _allocation(kernel: str, output: Allocation) -> Callable[[], NumpyArray]:
    """The call that allocates an output."""
    if math.prod(output.shape) * output.dtype.itemsize < WORTH_ALIGNING:
        return partial(np.empty, output.shape, output.dtype)
    return partial(allocated, kernel, output, is_zeroed=False)


def returned_values(
    returned: Returned,
    objects: Mapping[str, Any],
    sizes: Mapping[str, int],
    axes: Mapping[str, tuple[int, ...]],
) -> Any:
    """The results of a function.

    Args:
        objects: the arguments and the outputs that hold them.
        axes: the order in memory of the dimensions of arrays that are not row-major.

    Raises:
        SubscriptError: a computed subscript was outside of its array.
    """
    if returned.outside is not None and (line := int(objects[returned.outside])):
        raise SubscriptError(
            f"line {line}: a subscript or bound that this line takes from data is outside of its "
            "array; expected -n to n - 1 for n elements. Arrays may have been changed before"
        )
    if not returned.results:
        return None
    values = [_result(result, objects, sizes, axes) for result in returned.results]
    return tuple(values) if returned.is_tuple else values[0]


def _result(
    result: Result,
    objects: Mapping[str, Any],
    sizes: Mapping[str, int],
    axes: Mapping[str, tuple[int, ...]],
) -> Any:
    value = _converted(result, objects[result.name], sizes, axes)
    if result.ends is None:
        return value
    part = value[slice(*(None if end is None else objects[end][()] for end in result.ends))]
    return part.copy() if result.is_copied else part


def _converted(
    result: Result,
    value: Any,
    sizes: Mapping[str, int],
    axes: Mapping[str, tuple[int, ...]],
) -> Any:
    if result.view is not None:
        array = as_array(value, f"argument '{result.name}'")
        order = axes.get(result.name)
        return result.view.of(array if order is None else array.transpose(order), sizes)
    match result.kind:
        case ResultKind.PYTHON_NUMBER:
            return value if isinstance(value, bool | int | float) else value.item()
        case ResultKind.NUMPY_NUMBER:
            return value[()]
    return value


def _unknown(*_: Any) -> Any:
    return NotImplemented
