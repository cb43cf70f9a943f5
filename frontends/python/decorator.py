"""The decorator ``@polysched.kernel``: compile a Python function over arrays.

::

    @ps.kernel
    def scale(x: "f32[n]", y: "f32[n]"):
        for i in range(x.shape[0]):
            y[i] = 2 * x[i]

    scale(x, y)                      # plain Python, the reference
    ps.Schedule(scale).vectorize("i", 16).compile()(x, y)

The kernel has the same effects as the function: an array argument that the function writes to is
updated in place. A local array made by ``np.empty`` or ``np.zeros`` is an output if the function
returns it, else a temporary.

Values have the types that numpy 2 gives them (NEP 50), and the same bits, with these exceptions:

- ``x ** 2`` is ``x * x``, as numpy computes it for arrays;
- functions such as ``exp`` may differ in the last place;
- the minimum and maximum of 0.0 and -0.0 may have either sign;
- a local number that starts as a Python number and becomes a numpy scalar in a loop is a numpy
  scalar after the loop, even if the loop runs no iteration.

Where Python or numpy would raise an error that depends on data, the kernel continues:

- an integer that does not fit the type of the other operand or of the target wraps around;
- a Python integer divided by 0 gives 0;
- a float that does not fit an integer type gives the type's lowest value (numpy leaves the result
  for unsigned types to the processor);
- ``math`` functions give infinity or NaN.

``int(x)`` of a float is exact if the result fits 64 bits. Python arithmetic on that result is exact
if ``x`` is between -2**53 and 2**53. If a Python integer may exceed 64 bits, reading the function
is an error, or the kernel limits the parameters with which it can be called (`integer_ranges.py`).
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, overload

from polysched.errors import FrontendError, KernelError
from polysched.frontends.python.annotations import Argument, ArrayArgument, arguments_of
from polysched.frontends.python.expressions import Reader, sizes_in
from polysched.frontends.python.integer_ranges import limits_of_integers
from polysched.frontends.python.scope import NumberType, Scope, TypeLearnedError, assigned
from polysched.frontends.python.source import FunctionSource, function_source
from polysched.frontends.python.statements import Declarer
from polysched.frontends.python.values import Value
from polysched.frontends.reductions import with_order
from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.ir.core.tree import restrict
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Parameter


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PythonKernel(Kernel):
    """A kernel read from a Python function. Calling it runs the function in plain Python."""

    # No quoted annotation: `typing.get_type_hints` of a kernel could not resolve it.
    function: Callable[..., Any] = field(repr=False)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the function."""
        return self.function(*arguments, **named)


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
            :mod:`polysched.frontends.python.annotations`.
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


def read_kernel(function: Callable[..., Any], order: Order | None = None) -> PythonKernel:
    """Read a function as a kernel.

    If a later assignment determines the type of a local number, the function is read again with
    that type.

    Raises:
        FrontendError: the function uses something that kernels do not support.
    """
    source = function_source(function)
    types: Mapping[str, NumberType] = MappingProxyType({})
    while True:
        try:
            plain_kernel = _read(source, types, order)
            return PythonKernel(**vars(plain_kernel), function=function)
        except TypeLearnedError as learned:
            if types.get(learned.name) == learned.type:
                raise source.error(
                    source.assignment(learned.name),
                    f"'{learned.name}' is already a size or a number and is reassigned here while "
                    "its old value is still needed; use a new name for the new value",
                ) from None
            types = MappingProxyType({**types, learned.name: learned.type})


def _read(source: FunctionSource, types: Mapping[str, NumberType], order: Order | None) -> Kernel:
    arguments = arguments_of(source)
    try:
        build = KernelBuilder(source.node.name)
    except KernelError as error:
        raise source.error(source.node, str(error)) from None
    scope = Scope(types)
    sizes = _declare_arguments(source, build, scope, arguments)
    body, returned = _body(source)
    names = frozenset(node.id for node in returned)
    declarer = Declarer(Reader(source, build, scope, sizes), names)
    declarer.block(body)
    _require_returnable(source, scope, returned)
    try:
        result = build.kernel()
    except KernelError as error:
        raise source.error(source.node, str(error)) from None
    limits = limits_of_integers(result, declarer.reader.uses, source.error)
    if limits:
        for name, limit in limits.items():
            build.assume(Parameter(name) <= limit)
            build.assume(Parameter(name) >= -limit)
        result = build.kernel()
    result = _in_order(result, returned)
    if order is not None:
        result = with_order(result, order, declarer.labeled)
    tree = restrict(result.body, frozenset(result.statements))  # drops loops without a statement
    assert tree is not None
    return replace(result, body=tree, location=source.span(source.node).location)


def _declare_arguments(
    source: FunctionSource, build: KernelBuilder, scope: Scope, arguments: tuple[Argument, ...]
) -> tuple[str, ...]:
    """Declare the sizes, then the arrays; return the names of the sizes."""
    written = assigned(source.node.body)
    sizes: dict[str, int | None] = {}
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            for extent in (*argument.shape, *(argument.values or ())):
                sizes.update(dict.fromkeys(sizes_in(extent), 0))
        else:
            sizes.setdefault(argument.name, None)
    try:
        for name, minimum in sizes.items():
            parameter = build.parameter(name, minimum=minimum)
            if any(argument.name == name for argument in arguments):
                scope.names[name] = Value(parameter, is_weak=True)
    except KernelError as error:
        raise source.error(source.node, str(error)) from None
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            _declare_array(source, build, scope, argument, is_written=argument.name in written)
    return tuple(sizes)


def _declare_array(
    source: FunctionSource,
    build: KernelBuilder,
    scope: Scope,
    argument: ArrayArgument,
    *,
    is_written: bool,
) -> None:
    name, dtype, shape = argument.name, argument.dtype, argument.shape
    if is_written and (not shape or argument.values is not None):
        kind = "a number" if not shape else "an array of subscripts"
        raise source.error(
            argument.node, f"argument '{name}' is {kind}, so it cannot be assigned to"
        )
    try:
        with build.located(source.span(argument.node).location):
            if is_written:
                scope.names[name] = build.inout(name, dtype, shape)
            else:
                scope.names[name] = build.input(name, dtype, shape, values=argument.values)
    except KernelError as error:
        raise source.error(argument.node, str(error)) from None


def _body(source: FunctionSource) -> tuple[list[ast.stmt], tuple[ast.Name, ...]]:
    """Split off the final ``return``: the statements before it, and the names that it returns."""
    *body, last = source.node.body
    if not isinstance(last, ast.Return):
        return source.node.body, ()
    value = last.value
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return body, ()
    results = value.elts if isinstance(value, ast.Tuple) else [value]
    for position, result in enumerate(results):
        if not isinstance(result, ast.Name):
            raise source.error(
                result,
                "a compiled kernel returns arrays that the function makes; store this value, as in "
                "'result = np.empty(1)' at the top and 'result[0] = ...', and return 'result'",
            )
        earlier = results[:position]
        if any(isinstance(other, ast.Name) and other.id == result.id for other in earlier):
            raise source.error(result, f"'{result.id}' is returned twice; expected it once")
    if isinstance(value, ast.Tuple) and len(results) == 1:
        name = ast.unparse(results[0])
        raise source.error(
            value, f"this is a tuple of one array; return the array itself: 'return {name}'"
        )
    return body, tuple(result for result in results if isinstance(result, ast.Name))


def _require_returnable(source: FunctionSource, scope: Scope, returned: Iterable[ast.Name]) -> None:
    """Check that every returned name is an array that the function makes."""
    for node in returned:
        binding = scope.names.get(node.id)
        if isinstance(binding, ArrayHandle):
            if binding.array.role is Role.OUTPUT:
                continue
            kind = "an argument, which the caller already has; end with 'return' alone"
        elif binding is None:
            kind = "not defined before"
        else:
            kind = (
                "a number; store it in an array that the function makes, as in 'result = "
                f"np.empty(1)' at the top and 'result[0] = {node.id}', and return 'result'"
            )
        raise source.error(node, f"a kernel cannot return '{node.id}': it is {kind}")


def _in_order(kernel: Kernel, returned: tuple[ast.Name, ...]) -> Kernel:
    """Reorder the outputs of a kernel into the order in which the function returns them."""
    outputs = iter(kernel.arrays[node.id] for node in returned)
    arrays = [
        next(outputs) if array.role is Role.OUTPUT else array for array in kernel.arrays.values()
    ]
    return replace(kernel, arrays=MappingProxyType({array.name: array for array in arrays}))
