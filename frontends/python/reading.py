"""Read a function as a kernel: declare its arguments, then its statements and results."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from polysched.errors import FrontendError, KernelError
from polysched.frontends.joined_choices import with_joined_choices
from polysched.frontends.python.arrays.outer_arrays import declared
from polysched.frontends.python.calls.returns import (
    Returned,
    split_return,
    stored_results,
    with_assigned_results,
    with_results,
)
from polysched.frontends.python.expressions.translate import Reader, sizes_in
from polysched.frontends.python.scope.array_values import viewed, whole
from polysched.frontends.python.scope.bindings import (
    BranchArray,
    BranchArrayLearnedError,
    ComputedLearnedError,
    LocalNumber,
    NumberType,
    OuterArray,
    OuterArrayLearnedError,
    RangeLearnedError,
    Scope,
    TypeLearnedError,
    UndefinedLearnedError,
    WrittenLearnedError,
)
from polysched.frontends.python.scope.specialized import specialized, static_value
from polysched.frontends.python.source.annotations import Argument, ArrayArgument, arguments_of
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.frontends.python.source.stored_names import assigned, rebound
from polysched.frontends.python.statements.assignments import Assigner
from polysched.frontends.python.statements.local_numbers import assign_number
from polysched.frontends.python.statements.translate import Declarer
from polysched.frontends.python.values.integer_ranges import limits_of_integers
from polysched.frontends.python.values.value import Value, number
from polysched.frontends.reductions import with_order
from polysched.frontends.trimmed_loops import UNTRIMMED, untrimmed_loop
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.core.tree import restrict
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Constant, Expression, Parameter


@dataclass(frozen=True)
class Given:
    """Types and shapes of the arguments of a function without annotations.

    Attributes:
        arguments: the arguments, in the order of the definition.
        static: the arguments that are part of the code.
        products: whether a subscript may be a product of sizes and indices.
        shared: the arguments that are the same array as another one, with the other's name.
    """

    arguments: tuple[Argument, ...]
    static: Mapping[str, Any] = field(default_factory=dict)
    products: bool = False
    shared: Mapping[str, str] = field(default_factory=dict)

    def names_of(self, argument: str) -> frozenset[str]:
        """The names of the arguments that are the same array."""
        return frozenset({argument}).union(
            name for name, other in self.shared.items() if other == argument
        )


@dataclass(frozen=True)
class Known:
    """Facts of a function before it is read.

    Attributes:
        order: the order policy of its reductions.
        given: its arguments, if they have no annotations.
        types: the types of its local numbers.
        written: the arguments that it writes, beside those that assignments name.
        ranges: the ends of the ranges of elements used as subscripts, by array.
        outer: the arrays outside of the function that it reads.
        branch_arrays: the arrays that get their memory before the branch that makes them.
        filled: the arrays of ``np.empty`` that start with zeros.
        is_computed: whether it computes subscripts from data.
    """

    order: Order | None
    given: Given | None
    types: Mapping[str, NumberType] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    ranges: Mapping[str, Expression] = field(default_factory=dict)
    outer: tuple[OuterArray, ...] = ()
    branch_arrays: Mapping[str, BranchArray] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    is_computed: bool = False


def read_function(
    source: FunctionSource, order: Order | None, given: Given | None
) -> tuple[Kernel, Returned]:
    """Read a function, again and again until all that later statements tell is known.

    Raises:
        FrontendError: the function uses something that kernels do not support.
    """
    known = Known(order, given)
    if given is not None:
        source = _specialized(source, given)
    while True:
        try:
            return _read(source, known)
        except FrontendError as error:
            # The message points at the user's line; the frames between are of no use to a user.
            raise error.with_traceback(None) from None
        except WrittenLearnedError as learned:
            known = replace(known, written=known.written | {learned.name})
        except BranchArrayLearnedError as learned:
            arrays = {**known.branch_arrays, learned.name: learned.array}
            known = replace(known, branch_arrays=MappingProxyType(arrays))
        except OuterArrayLearnedError as learned:
            known = replace(known, outer=(*known.outer, learned.array))
        except UndefinedLearnedError as learned:
            known = replace(known, filled=known.filled | {learned.name})
        except ComputedLearnedError:
            known = replace(known, is_computed=True)
        except RangeLearnedError as learned:
            known = replace(
                known, ranges=MappingProxyType({**known.ranges, learned.name: learned.extent})
            )
        except TypeLearnedError as learned:
            if known.types.get(learned.name) == learned.type:
                raise source.error(
                    source.assignment(learned.name),
                    f"'{learned.name}' is already a size or a number and is reassigned here while "
                    "its old value is still needed; use a new name for the new value",
                ) from None
            types = MappingProxyType({**known.types, learned.name: learned.type})
            known = replace(known, types=types)


def _specialized(source: FunctionSource, given: Given) -> FunctionSource:
    """The function for the arguments that are part of its code."""
    trees = {name: static_value(value) for name, value in given.static.items()}
    static = {name: tree for name, tree in trees.items() if tree is not None}
    names = [*(argument.name for argument in given.arguments), *given.shared]
    node = copy(source.node)
    node.body = specialized(node.body, static, names) or [ast.copy_location(ast.Pass(), node)]
    return replace(source, node=node)


def _read(source: FunctionSource, known: Known) -> tuple[Kernel, Returned]:
    arguments = arguments_of(source) if known.given is None else known.given.arguments
    try:
        build = KernelBuilder(source.node.name)
    except KernelError as error:
        raise source.error(source.node, str(error)) from None
    body, returns = split_return(source)
    scope = Scope(
        known.types,
        results=returns.names,
        branch_arrays=known.branch_arrays,
        filled=known.filled,
    )
    if known.given is not None:
        scope.products = known.given.products
        scope.index_arrays = (
            frozenset(argument.name for argument in arguments) - known.ranges.keys()
        )
    scope.taken = {n.id for n in ast.walk(source.node) if isinstance(n, ast.Name)}
    sizes = _declare_arguments(source, build, scope, _with_ranges(arguments, known), known)
    declarer = Declarer(Assigner(Reader(source, build, scope, sizes)))
    if known.given is not None:
        _copy_numbers(declarer.assigner, arguments, assigned(body))
    for outer in known.outer:
        made = declared(declarer.assigner.arrays, source.node, outer)
        scope.outer_arrays.append((outer, made))
    if known.is_computed:
        outside = scope.outside = declarer.assigner.arrays.declare(source.node, "outside", i64, ())
        declarer.assigner.put(source.node, outside, (), number(0), is_new=True)
    declarer.block(body)
    is_of_data = declarer.is_of_data if known.given is not None else lambda _: False
    assignments, returns = with_assigned_results(returns, is_of_data)
    declarer.block(assignments)
    results = stored_results(declarer.assigner, returns, arguments=known.given is not None)
    if known.given is not None and build.is_empty:
        # A call may do nothing, such as a loop from 1 over an array of one element.
        nothing = declarer.assigner.arrays.declare(source.node, "nothing", i64, ())
        declarer.assigner.put(source.node, nothing, (), number(0), is_new=True)
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
    outside_name = None if scope.outside is None else scope.outside.array.name
    returned = Returned(
        results, returns.is_tuple, outside_name, frozenset(scope.contiguous), scope.unset
    )
    result = with_joined_choices(with_results(result, returned), declarer.labeled)
    if known.order is not None:
        result = with_order(result, known.order, declarer.labeled)
    tree = restrict(result.body, frozenset(result.statements))  # drops loops without a statement
    assert tree is not None
    kernel = replace(result, body=tree, location=source.span(source.node).location)
    untrimmed = untrimmed_loop(kernel, scope.data_loops)
    if untrimmed is not None:
        raise source.error(scope.data_loops[untrimmed], UNTRIMMED)
    return kernel, returned


def _copy_numbers(
    assigner: Assigner, arguments: tuple[Argument, ...], changed: frozenset[str]
) -> None:
    """Copy the number arguments that a function assigns to into local numbers."""
    for argument in arguments:
        is_array = isinstance(argument, ArrayArgument)
        is_number = isinstance(argument, ArrayArgument) and not argument.shape
        # A size is copied if a branch or a loop assigns to it and its value must be kept in memory.
        is_kept = not is_array and argument.name in assigner.reader.scope.types
        if (is_number or is_kept) and argument.name in changed:
            value = assigner.reader.value(
                ast.copy_location(ast.Name(argument.name, ast.Load()), argument.node)
            )
            del assigner.reader.scope.names[argument.name]
            target = ast.copy_location(ast.Name(argument.name, ast.Store()), argument.node)
            assign_number(assigner, ast.copy_location(ast.Pass(), argument.node), target, value)


def _with_ranges(arguments: tuple[Argument, ...], known: Known) -> tuple[Argument, ...]:
    """The arguments with the ranges of elements that are used as subscripts."""
    return tuple(
        replace(argument, values=(Constant(0), known.ranges[argument.name]))
        if isinstance(argument, ArrayArgument) and argument.name in known.ranges
        else argument
        for argument in arguments
    )


def _declare_arguments(
    source: FunctionSource,
    build: KernelBuilder,
    scope: Scope,
    arguments: tuple[Argument, ...],
    known: Known,
) -> tuple[str, ...]:
    """Declare the sizes, then the arrays; return the names of the sizes."""
    scope.taken |= {argument.name for argument in arguments}
    sizes: dict[str, int | None] = {}
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            for extent in (*argument.shape, *(argument.values or ())):
                sizes.update(dict.fromkeys(sizes_in(extent), 0))
                scope.taken.update(sizes)
        elif argument.literal is None:
            sizes.setdefault(argument.name, None)
        else:
            scope.names[argument.name] = number(argument.literal)
    try:
        for name, minimum in sizes.items():
            parameter = build.parameter(name, minimum=minimum)
            if any(argument.name == name for argument in arguments):
                scope.names[name] = Value(parameter, is_weak=True)
    except KernelError as error:
        raise source.error(source.node, str(error)) from None
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            _declare_array(
                source, build, scope, argument, is_written=_is_written(argument, source, known)
            )
    scope.arguments = {name: scope.names[name] for name in scope.arrays}
    scope.arrays |= sizes.keys()  # no array has the name of a parameter
    if known.given is not None:
        for name, other in known.given.shared.items():
            scope.names[name] = scope.names[other]
    return tuple(sizes)


def _is_written(argument: ArrayArgument, source: FunctionSource, known: Known) -> bool:
    """Whether a function assigns to an argument: to elements of an array, or to a number."""
    body = source.node.body
    names = assigned(body) - rebound(body) if argument.shape else assigned(body)
    own = {argument.name} if known.given is None else known.given.names_of(argument.name)
    return bool(own & names) or argument.name in known.written


def _declare_array(
    source: FunctionSource,
    build: KernelBuilder,
    scope: Scope,
    argument: ArrayArgument,
    *,
    is_written: bool,
) -> None:
    name, dtype, shape = argument.name, argument.dtype, argument.shape
    is_written = is_written and (bool(shape) or scope.index_arrays is None)
    if is_written and (not shape or argument.values is not None):
        kind = "a number" if not shape else "an array of subscripts"
        raise source.error(
            argument.node, f"argument '{name}' is {kind}, so it cannot be assigned to"
        )
    try:
        with build.located(source.span(argument.node).location):
            if is_written:
                handle = build.inout(name, dtype, argument.stored_shape)
            else:
                handle = build.input(name, dtype, argument.stored_shape, values=argument.values)
    except KernelError as error:
        raise source.error(argument.node, str(error)) from None
    scope.arrays.add(name)
    scope.names[name] = handle
    if argument.is_weak:
        scope.names[name] = LocalNumber(handle, is_weak=True)
    elif argument.axes is not None:
        axes = argument.axes
        scope.names[name] = viewed(
            whole(handle), shape, lambda indices: tuple(indices[axis] for axis in axes)
        )
