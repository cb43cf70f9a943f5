"""The decorator ``@polysched.jit``: compile a function for the types of its arguments when called.

::

    @ps.jit
    def smooth(x, y):
        y[1:-1] = 0.5 * (x[:-2] + x[2:])

A call compiles the function for the element types, ranks, memory order and equal extents of its
arguments, and keeps the code; the sizes stay variable. Without ``fastmath`` results have numpy's
bits, except for the order of ``np.sum`` and similar functions (`reductions.py`) and the exceptions
that `decorator.py` lists. A function that cannot be compiled raises an error that points at the
reason; it never runs in Python instead. ``function.python(...)`` is the original.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypeVar, overload

import islpy as isl
import numpy as np

from polysched.errors import CallError, FrontendError, PolyschedError
from polysched.frontends.python.calls.chosen_schedule import ScheduleRequest, schedule_request
from polysched.frontends.python.calls.compiled_function import CompiledCall, bound
from polysched.frontends.python.calls.repeated_calls import RepeatedCalls
from polysched.frontends.python.calls.signatures import (
    LARGEST_LITERAL,
    CallTypes,
    arguments_for,
    call_types,
    names_in,
    shared_arguments,
    sizes_of,
)
from polysched.frontends.python.decorator import read_kernel
from polysched.frontends.python.reading import Given
from polysched.frontends.python.scope.inferred_bounds import with_inferred_bounds
from polysched.frontends.python.source.annotations import Argument
from polysched.frontends.python.source.function_source import FunctionSource, function_source
from polysched.frontends.reciprocals import with_reciprocals
from polysched.html import Text
from polysched.ir.core.conditions import conditions_of
from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.ir.expr.affine import instance_space, to_set
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Parameter
from polysched.lower import compile
from polysched.runtime.tensors import as_given
from polysched.runtime.views import as_array
from polysched.signature_errors import with_signature_errors
from polysched.user import Schedule

ArgumentsP = ParamSpec("ArgumentsP")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Specialization:
    """The function compiled for one kind of arguments.

    Attributes:
        types: the kind of arguments.
        request: the request for the schedule.
        schedule: the schedule by which it runs.
        call: the compiled code.
        kernel: the kernel, with the conditions on sizes.
        arguments: its arguments.
    """

    types: CallTypes
    request: ScheduleRequest
    schedule: Schedule
    call: CompiledCall
    kernel: Kernel
    arguments: tuple[Argument, ...]


LARGEST_EXTENT = 2**47
"""No array has more elements along a dimension: addresses of programs have 47 bits."""


def _beyond_extents(kernel: Kernel) -> isl.Set:
    """The context of a kernel without the conditions that extents satisfy if no array is empty."""
    space = instance_space(kernel.parameters, "", ())
    extents = {extent for array in kernel.arrays.values() for extent in array.shape}
    context = kernel.context
    for parameter in map(Parameter, kernel.parameters):
        if parameter in extents:
            for known in (parameter >= 1, parameter <= LARGEST_EXTENT):
                context = context.gist(to_set(known, space).params())
    return context


class JitFunction(Generic[ArgumentsP, ResultT]):
    """A function that is compiled when it is called.

    For type checkers it has the arguments and the result of the function. It is pickled by its
    name or by its function's name, as functions are, so that other processes can be given it.

    Args:
        function: the function.
        fastmath: whether floating-point reductions may be reassociated and products fused with
            sums, so that results may differ from Python's in the last bits.
        threads: the number of threads that a call may use; None for all.
    """

    def __init__(
        self,
        function: Callable[ArgumentsP, ResultT],
        *,
        fastmath: bool = False,
        threads: int | None = 1,
    ) -> None:
        self.python = function
        self.fastmath = fastmath
        self.threads = threads
        self._source: FunctionSource = function_source(function)
        self._names = names_in(self._source)
        self._signature = inspect.signature(function)
        self._positional = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._defaults = function.__defaults__ or ()
        self._repeated = RepeatedCalls()
        self._made: dict[CallTypes, Specialization] = {}
        self._with_literals: set[CallTypes] = set()
        self._by_numbers: set[CallTypes] = set()
        self._latest: Specialization | None = None
        self._lock = threading.Lock()
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: ArgumentsP.args, **named: ArgumentsP.kwargs) -> ResultT:
        """Run compiled code.

        Raises:
            FrontendError: the function cannot be compiled for these arguments.
            CallError: an argument cannot be passed.
        """
        if named:
            names, passed = tuple(named), (*arguments, *named.values())
        else:  # with the defaults of arguments by position
            missing = len(self._positional) - len(arguments)
            names, passed = (), arguments
            if 0 < missing <= len(self._defaults):
                defaults = self._defaults[-missing:]
                passed = arguments = (*arguments, *defaults)  # type: ignore[assignment]
        result = self._repeated.run(names, *passed)
        if result is not NotImplemented:
            return result  # type: ignore[no-any-return]
        given = bound(self._signature, self.python.__name__, arguments, named)
        values = {name: self._value(name, value) for name, value in given.items()}
        specialization = self.specialized(values)
        shared = shared_arguments(values, specialization.call.written)
        if shared:
            specialization = self.specialized(values, shared)
        result, plan = specialization.call.run(values, self.threads, given)
        if plan is not None and not shared:  # repeated calls compare layouts, not addresses
            order = (*self._positional[: len(arguments)], *names)
            call = specialization.call.repeated(plan, order, self.threads)
            self._repeated.add(names, passed, call)
        return as_given(given.values(), result)  # type: ignore[no-any-return]

    def specialized(
        self, values: Mapping[str, Any], shared: Mapping[str, str] | None = None
    ) -> Specialization:
        """The compiled code for the types of some arguments; the first call with them compiles it.

        Args:
            values: the arguments by name.
            shared: those that are the same array as another one: see `shared_arguments`.

        Raises:
            FrontendError: the function cannot be compiled for them.
        """
        try:
            found = self._for_types(values, shared)
            self._require(found.kernel, sizes_of(found.kernel, found.arguments, values))
        except PolyschedError as error:
            exact = call_types(self._source, self._names, values, shared=shared, exact=True)
            found = self._exactly(exact, values, error)
        self._latest = found
        return found

    def _for_types(
        self, values: Mapping[str, Any], shared: Mapping[str, str] | None
    ) -> Specialization:
        types = call_types(self._source, self._names, values, shared=shared)
        if types in self._by_numbers:
            types = call_types(self._source, self._names, values, shared=shared, numbers=True)
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
        """
        with self._lock:
            if types not in self._made:
                try:
                    self._made[types] = self._compiled(types, values)
                except PolyschedError:
                    raise error from None
            return self._made[types]

    @property
    def schedule(self) -> Schedule:
        """The schedule of the latest call."""
        return self._required().schedule

    @property
    def signatures(self) -> tuple[str, ...]:
        """The kinds of arguments for which the function has been compiled."""
        return tuple(dict.fromkeys(str(one.types) for one in self._made.values()))

    def report(self) -> str:
        """Report of the latest call: its types, the conditions on sizes, the schedule's report.

        The conditions are those for arrays that are not empty. Statements named ``subscript`` and
        ``outside`` compute subscripts that are not affine, and whether one leaves its array.

        ``function.schedule.trace()`` lists the steps, ``function.schedule.show()`` the loops. If
        the schedule comes from disk, it is searched again for the reasons.
        """
        latest = self._required()
        schedule = latest.schedule
        if schedule.optimized is None:
            schedule = latest.request.optimized()
        conditions = conditions_of(_beyond_extents(schedule.kernel))
        lines = [
            f"{self.python.__name__}{latest.types}",
            *(f"every call checks: {condition.text}" for condition in conditions),
            str(schedule.report()),
        ]
        return Text("\n".join(lines))

    def inspect_llvm(self) -> dict[str, str]:
        """The LLVM IR of each kind of arguments for which the function has been compiled."""
        return {str(one.types): one.call.compiled.llvm for one in self._made.values()}

    def _require(self, kernel: Kernel, sizes: Mapping[str, int]) -> None:
        """Check that the sizes of a call fit the function, before its schedule is searched."""
        for condition in conditions_of(kernel.context):
            if not evaluate(condition.expression, sizes):
                shown = ", ".join(f"{name} = {value}" for name, value in sizes.items())
                raise CallError(
                    f"function '{self.python.__name__}{self._signature}' requires "
                    f"{condition.text}; got {shown} (x_n1 is x.shape[1])"
                )

    def __reduce__(self) -> str | tuple[Any, ...]:
        name = self.python.__qualname__
        if getattr(sys.modules.get(self.python.__module__), name, None) is self:
            return name
        return _jit_again, (self.python, self.fastmath, self.threads)

    def __repr__(self) -> str:
        return f"<jit {self.python.__name__}{self._signature}>"

    def _required(self) -> Specialization:
        if self._latest is None:
            raise CallError(
                f"function '{self.python.__name__}' has not been called yet; call it once, so that "
                "the types of its arguments are known"
            )
        return self._latest

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, bool | int | float | complex | np.generic | str | None | tuple | list):
            return value
        return as_array(value, f"function '{self.python.__name__}': argument '{name}'")

    def _specialized(self, types: CallTypes, values: Mapping[str, Any]) -> Specialization:
        """Code for the first literals of a kind of call; for other literals, code for all sizes."""
        general = call_types(self._source, self._names, values, shared=types.shared, literals=False)
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
                self._names,
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
            types: the kind of arguments.
            values: the arguments.
            products: whether a subscript may be a product of sizes and indices, which is computed
                and checked when the code runs.
        """
        arguments = arguments_for(self._source, types)
        order = Order.ANY if self.fastmath else None
        given = Given(arguments, types.static, products, types.shared)
        kernel = read_kernel(self.python, order, given)
        sizes = sizes_of(kernel, arguments, values)
        restricted = with_inferred_bounds(kernel, self._source, sizes)
        restricted = replace(restricted, fp_contract=self.fastmath)
        self._require(restricted, sizes)
        if self.fastmath:
            restricted = with_reciprocals(restricted)
        is_typical = max(sizes.values(), default=0) > LARGEST_LITERAL  # else it may be a trial
        request = schedule_request(
            restricted, threads=self.threads, sizes=sizes if is_typical else None
        )
        schedule = request.schedule()
        compiled = compile(schedule)
        arrays = tuple(
            array for array in compiled.signature.arrays if array.role is not Role.OUTPUT
        )
        axes = {one.name: one.axes for one in types.arrays if one.axes is not None}
        call = CompiledCall(compiled, arrays, axes, kernel.returns)
        return Specialization(types, request, schedule, call, restricted, arguments)


def _jit_again(
    function: Callable[..., Any], fastmath: bool, threads: int | None
) -> JitFunction[..., Any]:
    return JitFunction(function, fastmath=fastmath, threads=threads)


OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "nopython": "leave it out: a function never runs in Python instead",
        "parallel": "write threads=2 for two threads",
        "nogil": "leave it out: calls release the GIL",
        "cache": "leave it out: machine code is kept on disk",
        "error_model": "leave it out: division by zero gives numpy's result",
    }
)
"""Options of ``numba.jit``, each with what to write instead."""


@overload
def jit(
    function: Callable[ArgumentsP, ResultT],
    /,
    *,
    fastmath: bool = ...,
    threads: int | None = ...,
) -> JitFunction[ArgumentsP, ResultT]: ...


@overload
def jit(
    *, fastmath: bool = ..., threads: int | None = ...
) -> Callable[[Callable[ArgumentsP, ResultT]], JitFunction[ArgumentsP, ResultT]]: ...


@functools.partial(with_signature_errors, words=OPTIONS)
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    fastmath: bool = False,
    threads: int | None = 1,
) -> JitFunction[..., Any] | Callable[[Callable[..., Any]], JitFunction[..., Any]]:
    """Compile a function over arrays when it is called: ``@jit`` or ``@jit(fastmath=True)``.

    Args:
        function: a function over numpy arrays and numbers, without annotations.
        fastmath: see `JitFunction`.
        threads: see `JitFunction`.

    Raises:
        FrontendError: it is not a function whose source is available.
    """
    if function is None:
        return lambda decorated: JitFunction(decorated, fastmath=fastmath, threads=threads)
    if isinstance(function, JitFunction):
        raise FrontendError(f"{function!r} is compiled by jit already; leave out one of the two")
    if not callable(function):
        raise FrontendError(f"{function!r} is not a function; expected '@jit' or '@jit(...)'")
    return JitFunction(function, fastmath=fastmath, threads=threads)
