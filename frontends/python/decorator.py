"""The decorator ``@polysched.kernel``: compile a Python function over arrays.

::

    @ps.kernel
    def scale(x: "f32[n]", y: "f32[n]"):
        for i in range(x.shape[0]):
            y[i] = 2 * x[i]

    scale(x, y)                      # compiled
    scale.python(x, y)               # plain Python, the reference
    ps.Schedule(scale).vectorize("i", 16).compile()(x, y)

The kernel has the same effects as the function: an array argument that the function writes to is
updated in place. A local array made by ``np.empty`` or ``np.zeros`` is an output if the function
returns it, else a temporary.

Values have the types that numpy 2 gives them (NEP 50), and the same bits, with these exceptions:

- ``x ** 2`` is ``x * x``, as numpy computes it for arrays;
- functions such as ``exp`` may differ in the last place;
- the minimum and maximum of 0.0 and -0.0 may have either sign;
- a returned number whose type a branch decides, as in ``return min(1, x)``, has the type that
  represents all of them: 1.0 where Python returns 1;
- a local number that starts as a Python number and becomes a numpy scalar in a loop is a numpy
  scalar after the loop, even if the loop runs no iteration.

Where Python or numpy would raise an error that depends on data, the kernel continues:

- an integer that does not fit the type of the other operand or of the target wraps around;
- a Python integer divided by 0 gives 0;
- a float that does not fit an integer type gives the type's lowest value (numpy leaves the result
  for unsigned types to the processor);
- ``math`` functions give infinity or NaN, and so does a float divided by 0;
- the extremum of the elements that a mask selects is some number if it selects none;
- with ``ps.jit``, a computed subscript outside of its array accesses another element, and the call
  raises ``SubscriptError``, an ``IndexError``, at its end;
- a loop ``for k in range(a, b)`` whose bounds are data runs for the elements that its index
  subscripts, and for these only: with ``ps.jit``, a call in which it would leave them, also below
  0, raises ``SubscriptError`` at its end.

``int(x)`` of a float is exact if the result fits 64 bits. Python arithmetic on that result is exact
if ``x`` is between -2**53 and 2**53. If a Python integer may exceed 64 bits, reading the function
is an error, or the kernel limits the parameters with which it can be called (`integer_ranges.py`).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

from polysched.errors import FrontendError
from polysched.frontends.python.calls.chosen_schedule import schedule_request
from polysched.frontends.python.calls.compiled_function import CompiledCall, bound
from polysched.frontends.python.calls.repeated_calls import RepeatedCalls
from polysched.frontends.python.calls.returns import Returned
from polysched.frontends.python.reading import Given, read_function
from polysched.frontends.python.scope.inferred_bounds import with_inferred_bounds
from polysched.frontends.python.source.function_source import function_source
from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.lower import compile
from polysched.runtime.tensors import as_given


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PythonKernel(Kernel):
    """A kernel read from a Python function. Calling it runs compiled code."""

    # No quoted annotation: `typing.get_type_hints` of a kernel could not resolve it.
    function: Callable[..., Any] = field(repr=False)
    returns: Returned = field(repr=False, default_factory=Returned)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the function, compiled when first called.

        Raises:
            CallError: an argument has another type or shape than the annotation says, or an access
                would lie outside of its array.
        """
        names, passed = tuple(named), (*arguments, *named.values())
        result = self._repeated.run(names, *passed)
        if result is not NotImplemented:
            return result
        values = bound(self.signature, self.name, arguments, named)
        result, plan = self._compiled.run(values)
        if plan is not None:
            order = (*list(self.signature.parameters)[: len(arguments)], *names)
            self._repeated.add(names, passed, self._compiled.repeated(plan, order))
        return as_given(passed, result)

    @property
    def python(self) -> Callable[..., Any]:
        """The function in plain Python."""
        return self.function

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the function."""
        return inspect.signature(self.function)

    @property
    def __signature__(self) -> inspect.Signature:
        return self.signature

    @cached_property
    def _repeated(self) -> RepeatedCalls:
        return RepeatedCalls()

    @cached_property
    def _compiled(self) -> CompiledCall:
        restricted = with_inferred_bounds(
            self, function_source(self.function), None, unset=self.returns.unset
        )
        compiled = compile(schedule_request(restricted, threads=1).schedule())
        arrays = tuple(
            array for array in compiled.signature.arrays if array.role is not Role.OUTPUT
        )
        return CompiledCall(compiled, arrays, {}, self.returns)


@overload
def kernel(function: Callable[..., Any], /) -> PythonKernel: ...


@overload
def kernel(*, order: Order | str | None = ...) -> Callable[[Callable[..., Any]], PythonKernel]: ...


def kernel(
    function: Callable[..., Any] | None = None, /, *, order: Order | str | None = None
) -> PythonKernel | Callable[[Callable[..., Any]], PythonKernel]:
    """Read a function as a kernel: ``@kernel``, or ``@kernel(order="any")``.

    Args:
        function: a function over arrays and ``range`` loops, with its arguments annotated as in
            :mod:`polysched.frontends.python.source.annotations`.
        order: the order policy of its reductions, except those that ``polysched.statement`` names;
            by default ``"exact"`` for floating point, ``"any"`` for integers.

    Raises:
        FrontendError: the function uses something that kernels do not support; the message points
            at it.
    """
    try:
        policy = None if order is None else Order(order)
    except ValueError:
        raise FrontendError(
            f"unknown order policy {order!r} of a kernel; expected 'exact' or 'any'"
        ) from None
    if function is None:
        return lambda decorated: read_kernel(decorated, policy)
    return read_kernel(function, policy)


def read_kernel(
    function: Callable[..., Any], order: Order | None = None, given: Given | None = None
) -> PythonKernel:
    """Read a function as a kernel.

    What later statements tell of earlier ones (the type of a local number, an argument that is
    written, the range of subscripts) makes it read the function again.

    Args:
        order: the order policy of its reductions.
        given: the types of the arguments, without annotations; None to read the annotations.

    Raises:
        FrontendError: the function uses something that kernels do not support.
    """
    plain_kernel, returns = read_function(function_source(function), order, given)
    return PythonKernel(**vars(plain_kernel), function=function, returns=returns)
