"""The decorator ``@polysched.jit``: compile a function for the types of its arguments when called.

::

    @ps.jit
    def smooth(x, y):
        y[1:-1] = 0.5 * (x[:-2] + x[2:])

A call compiles the function for the element types, ranks, memory order and equal extents of its
arguments, and keeps the code; the sizes stay variable. Without ``fastmath`` results have numpy's
bits, except for the order of ``np.sum`` and similar functions (`reductions.py`), FMAs in sums of
products such as ``@`` (`fused_products.py`), and the exceptions that `decorator.py` lists. A
function that cannot be compiled raises an error that points at the reason; it never runs in Python
instead. ``function.python(...)`` is the original.

The code holds the values that global numbers, arrays and functions have when it is compiled. If a
global changes later, calls still use the old value, until a call with other types compiles again.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, Self, TypeVar, overload

import islpy as isl
import numpy as np

from polysched.errors import CallError, FrontendError
from polysched.frontends.python.calls.compiled_function import bound
from polysched.frontends.python.calls.repeated_calls import RepeatedCalls
from polysched.frontends.python.calls.signatures import shared_arguments
from polysched.frontends.python.loop_parts import LoopParts, loop_parts
from polysched.frontends.python.source.records import Record, with_records
from polysched.frontends.python.specializations import Specialization, Specializations
from polysched.html import Text
from polysched.ir.core.conditions import conditions_of
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.affine import instance_space, to_set
from polysched.ir.expr.expressions import Parameter
from polysched.runtime.native_calls import KnownCalls
from polysched.runtime.tensors import as_given
from polysched.runtime.threads import number_of_threads
from polysched.runtime.views import as_array
from polysched.schedule.core.foreign_names import JIT_NAMES
from polysched.signature_errors import with_signature_errors
from polysched.user import Schedule

ArgumentsP = ParamSpec("ArgumentsP")
ResultT = TypeVar("ResultT")


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


_PASSED = (bool, int, float, complex, np.generic, str, type(None), tuple, list, Record)
"""Types of arguments that are passed without conversion; arguments of other types become arrays."""


class JitFunction(KnownCalls, Generic[ArgumentsP, ResultT]):
    """A function that is compiled when it is called.

    For type checkers it has the arguments and the result of the function. It is pickled by its
    name or by its function's name, as functions are, so that other processes can be given it.

    Args:
        function: the function.
        fastmath: whether floating-point reductions may be reassociated and products fused with
            sums, so that results may differ from Python's in the last bits.
        threads: the number of threads that a call may use; None for all.
    """

    _repeated: RepeatedCalls

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Make a function whose repeated calls run no Python code."""
        repeated = RepeatedCalls()
        made = super().__new__(cls, repeated.run)
        made._repeated = repeated
        return made

    def __init__(
        self,
        function: Callable[ArgumentsP, ResultT],
        *,
        fastmath: bool = False,
        threads: int | None = 1,
    ) -> None:
        self.python = function
        self.fastmath = fastmath
        self.threads = None if threads is None else number_of_threads("jit", threads)
        self._code = Specializations(function, fastmath=fastmath, threads=threads)
        self._signature = inspect.signature(function)
        self._positional = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._defaults = function.__defaults__ or ()
        self._has_flags = False
        self._latest: Specialization | None = None
        self._parts: LoopParts | None = None
        functools.update_wrapper(self, function)

    if TYPE_CHECKING:

        def __call__(self, *arguments: ArgumentsP.args, **named: ArgumentsP.kwargs) -> ResultT:
            """Run compiled code; see `_called`."""

    def _called(self, *arguments: ArgumentsP.args, **named: ArgumentsP.kwargs) -> ResultT:
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
        # The table compares names, layouts and integers; truth values are part of the code.
        key: tuple[Any, ...] = names
        if self._has_flags:
            key = (*names, *(value for value in passed if value is True or value is False))
        result = self._repeated.run(key, *passed)
        if result is not NotImplemented:
            return result  # type: ignore[no-any-return]
        given = bound(self._signature, self.python.__name__, arguments, named)
        if self._parts is not None:
            return self._parts.run(given)  # type: ignore[no-any-return]
        flat = with_records(given, self._code.names)
        has_records = len(flat) > len(given)
        values = {name: self._value(name, value) for name, value in flat.items()}
        try:
            specialization = self.specialized(values)
        except FrontendError as error:
            again = functools.partial(JitFunction, fastmath=self.fastmath, threads=self.threads)
            self._parts = loop_parts(self.python, error, again)
            if self._parts is None:
                raise
            return self._parts.run(given)  # type: ignore[no-any-return]
        shared = shared_arguments(values, specialization.call.written)
        if shared:
            specialization = self.specialized(values, shared)
        result, plan = specialization.call.run(values, self.threads, flat)
        # Repeated calls compare layouts of arguments, not addresses and not values of records.
        if plan is not None and not shared and not has_records:
            order = (*self._positional[: len(arguments)], *names)
            call = specialization.call.repeated(plan, order, self.threads)
            if any(isinstance(value, bool) for value in passed) and not self._has_flags:
                self._has_flags = True
            else:
                self._repeated.add(key, passed, call)
        return as_given(flat.values(), result)  # type: ignore[no-any-return]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The function, or as an attribute of an instance, a method."""
        return self if instance is None else functools.partial(self, instance)

    def specialized(
        self, values: Mapping[str, Any], shared: Mapping[str, str] | None = None
    ) -> Specialization:
        """The compiled code for the types of some arguments: see `Specializations.found`."""
        self._latest = self._code.found(values, shared)
        return self._latest

    @property
    def schedule(self) -> Schedule:
        """The schedule of the latest call; that of one iteration, if a loop does not count."""
        return self._required().schedule

    @property
    def signatures(self) -> tuple[str, ...]:
        """The kinds of arguments for which the function has been compiled."""
        return tuple(dict.fromkeys(str(code.types) for code in self._code))

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
        return {str(code.types): code.call.compiled.llvm for code in self._code}

    def __reduce__(self) -> str | tuple[Any, ...]:
        name = self.python.__qualname__
        if getattr(sys.modules.get(self.python.__module__), name, None) is self:
            return name
        return _jit_again, (self.python, self.fastmath, self.threads)

    if not TYPE_CHECKING:  # type checkers report misspelled names themselves

        def __getattr__(self, name: str) -> NoReturn:
            if name in JIT_NAMES:
                hint = f"; write {JIT_NAMES[name]}"
            elif not name.startswith("_") and hasattr(Schedule, name):
                hint = f"; its schedule has it: schedule.{name}"
            else:
                hint = ""
            raise AttributeError(f"a function of ps.jit has no '{name}'{hint}")

    def __repr__(self) -> str:
        return f"<jit {self.python.__name__}{self._signature}>"

    def _required(self) -> Specialization:
        parts = self._parts
        if parts is not None:  # one iteration, unless no call has run one
            self._latest = parts.again.function._latest or parts.first.function._latest
        if self._latest is None:
            raise CallError(
                f"function '{self.python.__name__}' has not been called yet; call it once, so that "
                "the types of its arguments are known"
            )
        return self._latest

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, _PASSED):
            return value
        subject = f"function '{self.python.__name__}': argument '{name}'"
        if isinstance(value, np.matrix):
            raise CallError(f"{subject} is a matrix, whose * differs; pass np.asarray(...) of it")
        if isinstance(value, type | np.dtype):
            raise CallError(f"{subject} is a type; pass its name, '{np.dtype(value).name}'")
        return as_array(value, subject)


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
        "boundscheck": "leave it out: each call checks the bounds of arrays",
        "inline": "leave it out: functions that are called are inlined",
        "error_model": "leave it out: division by zero gives numpy's result",
    }
)
"""Options of ``numba.jit``, each with its replacement."""


@overload
def jit(
    function: Callable[ArgumentsP, ResultT], /, *, fastmath: bool = ..., threads: int | None = ...
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
        CallError: ``threads`` is not a positive integer or None.
    """
    if function is None:
        return lambda decorated: JitFunction(decorated, fastmath=fastmath, threads=threads)
    if isinstance(function, JitFunction):
        raise FrontendError(f"{function!r} is compiled by jit already; leave out one of the two")
    if isinstance(function, str | list | tuple):
        raise FrontendError(
            f"{function!r} is not a function; leave out types: calls give the types of arguments"
        )
    if not callable(function):
        raise FrontendError(f"{function!r} is not a function; expected '@jit' or '@jit(...)'")
    return JitFunction(function, fastmath=fastmath, threads=threads)
