"""Calls of compiled Python functions: arguments as Python gives them, results as Python expects."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from polysched.errors import CallError
from polysched.frontends.python.calls.repeated_calls import RepeatedCall, returned_values
from polysched.frontends.python.calls.returns import Returned
from polysched.ir.core.kernel import Array
from polysched.ir.expr.dtypes import boolean
from polysched.runtime.array_layout import layout_of
from polysched.runtime.kernel import CompiledKernel, allocated
from polysched.runtime.plan import Plan
from polysched.runtime.views import as_array
from polysched.signature_errors import mismatch

AnyArray: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CompiledCall:
    """A compiled function with the signature of the Python function.

    Attributes:
        arrays: its argument arrays, without its outputs.
        axes: the order in memory of the dimensions of array arguments that are not row-major.
        returned: the values that a call returns.
    """

    compiled: CompiledKernel
    arrays: tuple[Array, ...]
    axes: Mapping[str, tuple[int, ...]]
    returned: Returned

    @property
    def written(self) -> list[str]:
        """The names of the arguments that a call writes."""
        return [array.name for array in self.arrays if array.is_written and array.shape]

    def run(
        self,
        arguments: Mapping[str, Any],
        threads: int | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> tuple[Any, Plan | None]:
        """Call the compiled function.

        Returns:
            the result, and the plan of the kernel's call; None if it took copies of arguments.

        Args:
            arguments: the arguments by name.
            threads: the number of threads; None for all.
            given: the arguments as the caller passed them, which a function may return.

        Raises:
            CallError: an argument has another type or shape than the function is compiled for.
        """
        passed: list[AnyArray] = []
        copied: list[tuple[AnyArray, AnyArray]] = []
        views: dict[str, AnyArray] = {}
        is_copied = False
        for array in self.arrays:
            value = arguments[array.name]
            if not array.shape:
                passed.append(self._number(array, value))
                continue
            view = views[array.name] = self._view(array, value)
            contiguous = np.ascontiguousarray(view)
            if contiguous is not view and array.name in self.returned.contiguous:
                raise CallError(
                    f"function '{self.compiled.name}': argument '{array.name}' is not contiguous; "
                    "the function writes it and uses it in another shape, which numpy copies then: "
                    "pass a contiguous array"
                )
            if contiguous is not view and array.is_written:
                if _overlaps_itself(view):
                    raise CallError(
                        f"function '{self.compiled.name}': argument '{array.name}' is written, and "
                        f"its elements may share memory (strides of {view.strides} bytes); pass a "
                        "copy of it"
                    )
                copied.append((view, contiguous))
            passed.append(contiguous)
            is_copied = is_copied or contiguous is not view
        if is_copied:
            self._require_apart(views)
        names = tuple(array.name for array in self.arrays)
        kernel = self.compiled
        parameters = {
            name: arguments[name] for name in kernel.signature.parameters if name in arguments
        }
        plan = kernel.plan(tuple(map(layout_of, passed)), names, parameters)
        kernel.check_values(plan, passed)
        outputs = [
            allocated(kernel.name, allocation, is_zeroed=False) for allocation in plan.allocations
        ]
        kernel.run_plan(plan, [*passed, *outputs], threads)
        for view, contiguous in copied:
            view[...] = contiguous
        made = zip((allocation.name for allocation in plan.allocations), outputs, strict=True)
        objects = {**(arguments if given is None else given), **dict(made)}
        sizes = dict(zip(kernel.signature.parameters, plan.parameters, strict=True))
        result = returned_values(self.returned, objects, sizes, self.axes)
        return result, None if is_copied else plan

    def repeated(
        self, plan: Plan, names: Iterable[str], threads: int | None = None
    ) -> RepeatedCall:
        """The same call for `RepeatedCalls`.

        Args:
            names: the names of the arguments in the order in which they were passed.
            threads: as for `run`.
        """
        passed = (*names, *(allocation.name for allocation in plan.allocations))
        positions = {name: position for position, name in enumerate(passed)}
        return RepeatedCall(self.compiled, plan, self.returned, positions, threads, self.axes)

    def _view(self, array: Array, value: Any) -> AnyArray:
        subject = f"function '{self.compiled.name}': argument '{array.name}'"
        view = as_array(value, subject)
        axes = self.axes.get(array.name)
        if axes is not None and view.ndim == len(axes):
            view = view.transpose(axes)
        return view

    def _number(self, array: Array, value: Any) -> AnyArray:
        """A number, as the array without dimensions in which the kernel takes it."""
        subject = f"function '{self.compiled.name}': argument '{array.name}'"
        dtype = array.dtype.numpy()
        if isinstance(value, np.ndarray | np.generic) or not isinstance(value, bool | int | float):
            result = as_array(np.asarray(value), subject)
            if result.ndim or result.dtype != dtype:
                raise CallError(
                    f"{subject} is {result.dtype} of shape {result.shape}; expected a number of "
                    f"type {array.dtype}"
                )
            return result.copy()
        fits = np.can_cast(np.min_scalar_type(value), dtype, "same_kind")
        if isinstance(value, bool) != (array.dtype == boolean) or not fits:
            raise CallError(f"{subject} is {value!r}; expected a number of type {array.dtype}")
        try:
            return np.array(value, dtype)
        except OverflowError:
            raise CallError(
                f"{subject} is {value!r}; expected a number of type {array.dtype}"
            ) from None

    def _require_apart(self, views: Mapping[str, AnyArray]) -> None:
        """Check that no array that is written shares memory with another one: some are copied."""
        written = [array.name for array in self.arrays if array.is_written and array.name in views]
        for first in written:
            for second, view in views.items():
                if first != second and np.may_share_memory(views[first], view):
                    raise CallError(
                        f"function '{self.compiled.name}': arguments '{first}' and '{second}' "
                        f"overlap in memory, and '{first}' is written; pass a copy of one of them"
                    )


def _overlaps_itself(view: AnyArray) -> bool:
    """Whether elements may share memory: a stride is less than its inner dimensions span."""
    strides = zip(map(abs, view.strides), view.shape, strict=True)
    reach = view.itemsize
    for stride, extent in sorted(pair for pair in strides if pair[1] > 1):
        if stride < reach:
            return True
        reach += (extent - 1) * stride
    return False


def bound(
    signature: inspect.Signature, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by name, with the default values."""
    try:
        call = signature.bind(*arguments, **named)
    except TypeError as error:
        reason = mismatch(name, signature, arguments, named)
        raise CallError(f"function '{name}': {reason or error}") from None
    call.apply_defaults()
    return dict(call.arguments)
