"""Code of a function for each kind of arguments, compiled when a call needs it."""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polysched.errors import CallError, FrontendError, PolyschedError, UnboundError
from polysched.frontends.python.calls.chosen_schedule import (
    WORTH_CYCLES,
    ScheduleRequest,
    schedule_request,
)
from polysched.frontends.python.calls.compiled_function import CompiledCall
from polysched.frontends.python.calls.signatures import (
    CallTypes,
    arguments_for,
    call_types,
    names_in,
    sizes_of,
)
from polysched.frontends.python.decorator import read_kernel
from polysched.frontends.python.fused_products import only_fuses_free_sums
from polysched.frontends.python.reading import Given
from polysched.frontends.python.scope.inferred_bounds import with_inferred_bounds
from polysched.frontends.python.source.annotations import Argument, require_named, spelled
from polysched.frontends.python.source.function_source import (
    PART,
    FunctionSource,
    function_source,
)
from polysched.frontends.reciprocals import with_reciprocals
from polysched.ir.core.conditions import conditions_of
from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.ir.expr.evaluate import evaluate
from polysched.lower import compile
from polysched.user import Schedule


@dataclass(frozen=True)
class Specialization:
    """The function compiled for one kind of arguments.

    Attributes:
        request: the request for the schedule.
        schedule: the schedule by which it runs.
        call: the compiled code.
        kernel: the kernel, with the conditions on sizes.
    """

    types: CallTypes
    request: ScheduleRequest
    schedule: Schedule
    call: CompiledCall
    kernel: Kernel
    arguments: tuple[Argument, ...]


class Specializations:
    """The code of one function, by the kind of arguments.

    Args:
        function: the function.
        fastmath: as for `JitFunction`.
        threads: as for `JitFunction`.
    """

    def __init__(
        self, function: Callable[..., Any], *, fastmath: bool, threads: int | None
    ) -> None:
        self.function = function
        self.fastmath = fastmath
        self.threads = threads
        self._source: FunctionSource = function_source(function)
        require_named(self._source)
        self.names = names_in(self._source)
        self._is_part = PART in vars(function)
        self._made: dict[CallTypes, Specialization] = {}
        self._with_literals: set[CallTypes] = set()
        self._by_numbers: set[CallTypes] = set()
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Specialization]:
        return iter(self._made.values())

    def found(
        self, values: Mapping[str, Any], shared: Mapping[str, str] | None = None
    ) -> Specialization:
        """The compiled code for the types of some arguments; the first call with them compiles it.

        Args:
            shared: those that are the same array as another one: see `shared_arguments`.

        Raises:
            FrontendError: the function cannot be compiled for them.
        """
        if self._is_part:
            return self._for_all(values, shared)
        try:
            found = self._for_types(values, shared)
            self._require(found.kernel, found.arguments, values)
        except PolyschedError as error:
            exact = call_types(self._source, self.names, values, shared=shared, exact=True)
            found = self._exactly(exact, values, error)
        return found

    def _for_all(
        self, values: Mapping[str, Any], shared: Mapping[str, str] | None
    ) -> Specialization:
        """Code for all sizes and integers: they change from one iteration of a loop to the next."""
        types = call_types(self._source, self.names, values, shared=shared, literals=False)
        with self._lock:
            found = self._made.get(types)
            if found is None:
                try:
                    found = self._compiled(types, values)
                except FrontendError:
                    found = self._compiled(types, values, products=True)
                self._made[types] = found
        self._require(found.kernel, found.arguments, values)
        return found

    def _for_types(
        self, values: Mapping[str, Any], shared: Mapping[str, str] | None
    ) -> Specialization:
        types = call_types(self._source, self.names, values, shared=shared)
        if types in self._by_numbers:
            types = call_types(self._source, self.names, values, shared=shared, numbers=True)
        found = self._made.get(types)
        if found is None:
            with self._lock:
                found = self._made.get(types)
                if found is None:
                    found = self._specialized(types, values)
                    if types not in self._by_numbers:  # else it is code for these integers only
                        self._made[types] = found
        return found

    def _exactly(
        self, types: CallTypes, values: Mapping[str, Any], error: PolyschedError
    ) -> Specialization:
        """Code for the sizes of one call, if code for all sizes does not take them.

        So a slice ``x[:3]`` of two elements ends at the last one, and all shapes can be joined.

        Raises:
            PolyschedError: this fails too; it is the error about all sizes.
            UnboundError: a variable has no value for these sizes.
        """
        with self._lock:
            if types not in self._made:
                try:
                    self._made[types] = self._compiled(types, values)
                except PolyschedError as own:
                    is_unbound = isinstance(own, UnboundError)
                    is_general = not is_unbound or isinstance(error, UnboundError)
                    raise (error if is_general else own) from None
            return self._made[types]

    def _require(
        self, kernel: Kernel, arguments: tuple[Argument, ...], values: Mapping[str, Any]
    ) -> None:
        """Check that the sizes of a call fit the function, before its schedule is searched."""
        sizes = sizes_of(kernel, arguments, values)
        for condition in conditions_of(kernel.context):
            if not evaluate(condition.expression, sizes):
                given = (
                    f"{name}.shape = {np.shape(value)}" if np.ndim(value) else f"{name} = {value!r}"
                    for name, value in values.items()
                    if isinstance(value, np.ndarray | int)
                )
                named = f"{self.function.__name__}{inspect.signature(self.function)}"
                raise CallError(
                    f"function '{named}' requires {spelled(condition.text, arguments)}; "
                    f"got {', '.join(given)}"
                )

    def _specialized(self, types: CallTypes, values: Mapping[str, Any]) -> Specialization:
        """Code for the first literals of a kind of call; for other literals, code for all sizes."""
        general = call_types(self._source, self.names, values, shared=types.shared, literals=False)
        if general == types:
            return self._general(types, values)
        if general not in self._with_literals:
            self._with_literals.add(general)
            with contextlib.suppress(FrontendError):
                return self._compiled(types, values)
            return self._compiled(types, values, products=True)
        if general not in self._made:
            try:
                self._made[general] = self._compiled(general, values)
            except FrontendError:  # such as a subscript i*k, which only a literal k makes affine
                with contextlib.suppress(FrontendError):
                    return self._compiled(types, values)
                self._made[general] = self._compiled(general, values, products=True)
        return self._made[general]

    def _general(self, types: CallTypes, values: Mapping[str, Any]) -> Specialization:
        """Code for all sizes, or for the integers of this call if only literals are affine."""
        try:
            return self._compiled(types, values)
        except FrontendError:
            numbers = call_types(
                self._source,
                self.names,
                values,
                shared=types.shared,
                literals=False,
                numbers=True,
            )
            if numbers != types:
                with contextlib.suppress(PolyschedError):
                    made = self._made[numbers] = self._compiled(numbers, values)
                    self._by_numbers.add(types)
                    return made
            return self._compiled(types, values, products=True)

    def _compiled(
        self, types: CallTypes, values: Mapping[str, Any], *, products: bool = False
    ) -> Specialization:
        """Compile the function.

        Args:
            products: whether a subscript may be a product of sizes and indices, which is computed
                and checked when the code runs.
        """
        arguments = arguments_for(self._source, types)
        order = Order.ANY if self.fastmath else None
        given = Given(arguments, types.static, products, types.shared)
        kernel = read_kernel(self.function, order, given)
        sizes = sizes_of(kernel, arguments, values)
        restricted = with_inferred_bounds(
            kernel, self._source, sizes, arguments, kernel.returns.unset
        )
        fuses = self.fastmath or only_fuses_free_sums(restricted)
        restricted = replace(restricted, fp_contract=fuses)
        self._require(restricted, arguments, values)
        if self.fastmath:
            restricted = with_reciprocals(restricted)
        is_short = set(sizes) <= set(types.few)
        request = schedule_request(
            restricted,
            threads=self.threads,
            sizes=sizes,
            worth_cycles=WORTH_CYCLES if is_short else 0.0,
        )
        schedule = request.schedule()
        compiled = compile(schedule)
        arrays = tuple(
            array for array in compiled.signature.arrays if array.role is not Role.OUTPUT
        )
        axes = {array.name: array.axes for array in types.arrays if array.axes is not None}
        call = CompiledCall(compiled, arrays, axes, kernel.returns)
        return Specialization(types, request, schedule, call, restricted, arguments)
