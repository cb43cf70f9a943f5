"""``@polysched.kernel``: a Python function that is a kernel too.

::

    @ps.kernel
    def scale(x: "f32[n]", y: "f32[n]"):
        for i in range(x.shape[0]):
            y[i] = 2 * x[i]

    scale(x, y)                      # plain Python, the reference
    ps.Schedule(scale).vectorize("i", 16).compile()(x, y)

What the function does to its arguments the kernel does: an array that it writes to is updated in
place. A local array made by ``np.empty`` or ``np.zeros`` is an output if the function returns it,
else a temporary.

Values have the types that numpy 2 gives them (NEP 50), and the same bits, with these exceptions:

- ``x ** 2`` is ``x * x``, as numpy has it of arrays;
- functions such as ``exp`` may differ in the last place;
- of zeros of both signs numpy's extrema give either one;
- a local number that starts as a Python number and becomes a numpy scalar in a loop is a numpy
  scalar behind the loop, also where the loop runs no iteration.

Where Python or numpy raises an error that depends on data, the kernel goes on: an integer that does
not fit the type that it meets or is stored in wraps around, a Python integer divided by 0 gives 0,
a float that does not fit an integer type gives the type's lowest value, ``math`` gives infinity or
NaN. (numpy itself leaves to the processor what a float gives that does not fit an unsigned type.)
``int(x)`` of a float is right within 64 bits, and what Python computes with it where ``x`` is
between -2**53 and 2**53. Python integers that may leave 64 bits are an error when
the function is read, or limit the parameters for which the kernel may be called
(`integer_ranges.py`).
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
from polysched.ir.array_handle import ArrayHandle
from polysched.ir.builder import KernelBuilder
from polysched.ir.expressions import Parameter
from polysched.ir.kernel import Kernel, Order, Role
from polysched.ir.tree import restrict


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PythonKernel(Kernel):
    """The kernel that a function means. Calling it runs the function, in plain Python."""

    # No name in quotes, which those who ask a callable for its types could not resolve.
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
        function: over arrays and ``range`` loops; its arguments are annotated as
            :mod:`polysched.frontends.python.annotations` says.
        order: the policy of its reductions, but of those that ``polysched.statement`` names; by
            default ``"exact"`` for floating point, ``"any"`` for integers.

    Raises:
        FrontendError: the function does what a kernel cannot; the message points at it.
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
    """The kernel that a function means.

    The types of local numbers may show only at a later assignment; the function is then read again.

    Raises:
        FrontendError: it does what a kernel cannot.
    """
    source = function_source(function)
    types: Mapping[str, NumberType] = MappingProxyType({})
    while True:
        try:
            found = _read(source, types, order)
            return PythonKernel(**vars(found), function=function)
        except TypeLearnedError as learned:
            if types.get(learned.name) == learned.found:
                raise source.error(
                    source.assignment(learned.name),
                    f"'{learned.name}' is a size or a number before and is changed here, where its "
                    "old value is needed too; expected a name of its own",
                ) from None
            types = MappingProxyType({**types, learned.name: learned.found})


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
        found = build.kernel()
    except KernelError as error:
        raise source.error(source.node, str(error)) from None
    limits = limits_of_integers(found, declarer.reader.uses, source.error)
    if limits:
        for name, limit in limits.items():
            build.assume(Parameter(name) <= limit)
            build.assume(Parameter(name) >= -limit)
        found = build.kernel()
    found = _in_order(found, returned)
    if order is not None:
        found = with_order(found, order, declarer.labeled)
    tree = restrict(found.body, frozenset(found.statements))  # loops without a statement go
    assert tree is not None
    return replace(found, body=tree, location=source.span(source.node).location)


def _declare_arguments(
    source: FunctionSource, build: KernelBuilder, scope: Scope, arguments: tuple[Argument, ...]
) -> tuple[str, ...]:
    """Declare the sizes, then the arrays; the names of the sizes."""
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
        what = "a number" if not shape else "an array of subscripts"
        raise source.error(argument.node, f"'{name}' is {what} and is assigned to")
    try:
        with build.located(source.span(argument.node).location):
            if is_written:
                scope.names[name] = build.inout(name, dtype, shape)
            else:
                scope.names[name] = build.input(name, dtype, shape, values=argument.values)
    except KernelError as error:
        raise source.error(argument.node, str(error)) from None


def _body(source: FunctionSource) -> tuple[list[ast.stmt], tuple[ast.Name, ...]]:
    """The statements without the ``return`` at the end, and the names that it returns."""
    *body, last = source.node.body
    if not isinstance(last, ast.Return):
        return source.node.body, ()
    value = last.value
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return body, ()
    given = value.elts if isinstance(value, ast.Tuple) else [value]
    for position, one in enumerate(given):
        if not isinstance(one, ast.Name):
            raise source.error(
                one,
                "a compiled kernel returns arrays that the function makes; store this, as in "
                "'result = np.empty(1)' at the top and 'result[0] = ...', and return 'result'",
            )
        if any(isinstance(other, ast.Name) and other.id == one.id for other in given[:position]):
            raise source.error(one, f"'{one.id}' is returned twice; expected it once")
    if isinstance(value, ast.Tuple) and len(given) == 1:
        name = ast.unparse(given[0])
        raise source.error(value, f"a tuple of one array; a kernel returns arrays: 'return {name}'")
    return body, tuple(one for one in given if isinstance(one, ast.Name))


def _require_returnable(source: FunctionSource, scope: Scope, returned: Iterable[ast.Name]) -> None:
    """Check that what is returned are arrays that the function makes: others it would not be."""
    for node in returned:
        meaning = scope.names.get(node.id)
        if isinstance(meaning, ArrayHandle):
            if meaning.array.role is Role.OUTPUT:
                continue
            what = "an argument, which the caller has; end with 'return' alone"
        elif meaning is None:
            what = "not made before"
        else:
            what = (
                "a number; store it in an array that the function makes, as in 'result = "
                f"np.empty(1)' at the top and 'result[0] = {node.id}', and return 'result'"
            )
        raise source.error(node, f"a kernel cannot return '{node.id}': it is {what}")


def _in_order(kernel: Kernel, returned: tuple[ast.Name, ...]) -> Kernel:
    """The kernel whose outputs stand in the order in which the function returns them."""
    outputs = iter(kernel.arrays[node.id] for node in returned)
    arrays = [
        next(outputs) if array.role is Role.OUTPUT else array for array in kernel.arrays.values()
    ]
    return replace(kernel, arrays=MappingProxyType({array.name: array for array in arrays}))
