"""Results of a function: arrays that it makes, numbers, and arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import reduce
from operator import and_
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.frontends.python.expressions.array_calls import copied
from polysched.frontends.python.scope.array_values import ArrayValue, tidy, whole
from polysched.frontends.python.scope.array_views import is_whole
from polysched.frontends.python.scope.bindings import LocalNumber, Scope
from polysched.frontends.python.source.changed_nodes import with_fields
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.frontends.python.statements.assignments import Assigner
from polysched.frontends.python.values.value import Value
from polysched.ir.core.kernel import Kernel, Role
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.traversal import walk


class ResultKind(Enum):
    """How a call makes a result from the arrays that the kernel has stored."""

    ARRAY = "array"
    ARGUMENT = "argument"
    VIEW = "view"
    NUMPY_NUMBER = "numpy number"
    PYTHON_NUMBER = "Python number"


@dataclass(frozen=True)
class View:
    """A part of an argument, with its dimensions in any order.

    Attributes:
        shape: the extents, over sizes.
        start: the subscripts of the first element, in the order in which dimensions lie in memory.
        steps: for each dimension of the view, what its index adds to these subscripts.
    """

    shape: tuple[Expression, ...]
    start: tuple[Expression, ...]
    steps: tuple[tuple[int, ...], ...]

    def of(self, array: np.ndarray[Any, Any], sizes: Mapping[str, int]) -> np.ndarray[Any, Any]:
        """The view of an array whose dimensions have the order in which they lie in memory."""
        shape = tuple(max(0, evaluate(extent, sizes)) for extent in self.shape)
        strides = tuple(
            sum(step * stride for step, stride in zip(steps, array.strides, strict=True))
            for steps in self.steps
        )
        if 0 in shape:
            return array[(slice(0),) * array.ndim].reshape(-1)[:0].reshape(shape)
        first = tuple(slice(evaluate(subscript, sizes), None) for subscript in self.start)
        return np.lib.stride_tricks.as_strided(array[first], shape, strides)


@dataclass(frozen=True)
class Result:
    """One value that a function returns.

    Attributes:
        name: the array of the kernel that holds it.
        kind: what it is in Python.
        view: the part of an argument that a view shows.
        is_chosen: whether a branch decides the type of a number; it has the common type then.
        ends: the arrays that hold the ends of a slice of it, if data decides them: ``x[:n]``.
        is_copied: whether the caller gets a copy of the slice.
    """

    name: str
    kind: ResultKind
    view: View | None = None
    is_chosen: bool = False
    ends: tuple[str | None, str | None] | None = None
    is_copied: bool = False


@dataclass(frozen=True)
class Returned:
    """The result of a call of a compiled function.

    Attributes:
        results: the values.
        is_tuple: whether it returns them as a tuple.
        outside: the output that holds the line of a computed subscript outside of its array, else
            0; None if no subscript is computed from data.
        contiguous: the arguments that have to be contiguous: numpy makes a view of them in another
            shape only then, and the function writes them.
        unset: the numbers that are read after the loop or branch that gives them their first value,
            by their arrays.
    """

    results: tuple[Result, ...] = ()
    is_tuple: bool = False
    outside: str | None = None
    contiguous: frozenset[str] = frozenset()
    unset: Mapping[str, str] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs of the kernel that a call needs."""
        of_caller = (ResultKind.ARGUMENT, ResultKind.VIEW)
        names = (result.name for result in self.results if result.kind not in of_caller)
        ends = (name for result in self.results for name in result.ends or ())
        others = (name for name in (*ends, self.outside) if name is not None)
        return tuple(dict.fromkeys((*names, *others)))


@dataclass(frozen=True)
class Returns:
    """The final ``return`` of a function.

    Attributes:
        values: the expressions that it returns.
        is_tuple: whether it returns a tuple.
    """

    values: tuple[ast.expr, ...] = ()
    is_tuple: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The variables among the values."""
        return frozenset(value.id for value in self.values if isinstance(value, ast.Name))


def split_return(source: FunctionSource) -> tuple[list[ast.stmt], Returns]:
    """Split off the final ``return``: the statements before it, and its value.

    Raises:
        FrontendError: it returns a variable twice.
    """
    *body, last = source.node.body
    if not isinstance(last, ast.Return):
        return source.node.body, Returns()
    value = last.value
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return body, Returns()
    values = value.elts if isinstance(value, ast.Tuple) else [value]
    names: set[str] = set()
    for part in values:
        if isinstance(part, ast.Name):
            if part.id in names:
                raise source.error(part, f"'{part.id}' is returned twice; expected it once")
            names.add(part.id)
    return body, Returns(tuple(values), isinstance(value, ast.Tuple))


def with_assigned_results(
    returns: Returns, is_of_data: Callable[[ast.expr], bool]
) -> tuple[list[ast.stmt], Returns]:
    """Give every returned expression that is no variable a name: the assignments, and the names.

    Args:
        is_of_data: whether data decides an integer. Of a slice with such ends the array and the
            ends get names, ``returned[returned_2:returned_3]``.
    """
    statements: list[ast.stmt] = []

    def named(value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Name):
            return value
        number = len(statements) + 1
        name = "returned" if number == 1 else f"returned_{number}"
        target = ast.copy_location(ast.Name(name, ast.Store()), value)
        statements.append(ast.copy_location(ast.Assign([target], value), value))
        return ast.copy_location(ast.Name(name, ast.Load()), value)

    def result(value: ast.expr) -> ast.expr:
        match value:
            case ast.Call(func=ast.Attribute(value=part, attr="copy"), args=[], keywords=[]):
                inside = result(part)
                if isinstance(inside, ast.Subscript):
                    return with_fields(value, func=with_fields(value.func, value=inside))
            case ast.Subscript(value=array, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                if any(end is not None and is_of_data(end) for end in (lower, upper)):
                    ends = [
                        None if end is None else named(_computed(end)) for end in (lower, upper)
                    ]
                    part = with_fields(value.slice, lower=ends[0], upper=ends[1])
                    return with_fields(value, value=named(array), slice=part)
        return named(value)

    return statements, replace(returns, values=tuple(map(result, returns.values)))


def _computed(node: ast.expr) -> ast.expr:
    """An expression of the same value as a variable, which may be returned as well."""
    if not isinstance(node, ast.Name):
        return node
    return ast.copy_location(ast.BinOp(node, ast.Add(), _zero(node)), node)


def _zero(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Constant(0), node)


def stored_results(assigner: Assigner, returns: Returns, *, arguments: bool) -> tuple[Result, ...]:
    """The arrays that hold the results, after statements that store those not in an array yet.

    Args:
        arguments: whether an argument can be returned.

    Raises:
        FrontendError: a result is an argument, a part of one, or not defined.
    """
    return tuple(_result(assigner, value, arguments=arguments) for value in returns.values)


def _result(assigner: Assigner, value: ast.expr, *, arguments: bool) -> Result:
    match value:
        case ast.Call(func=ast.Attribute(value=part)):
            return replace(_result(assigner, part, arguments=arguments), is_copied=True)
        case ast.Subscript(value=ast.Name() as array, slice=ast.Slice(lower=lower, upper=upper)):
            whole = _stored(assigner, array, arguments=arguments)
            first, last = (
                _stored(assigner, end, arguments=arguments).name
                if isinstance(end, ast.Name)
                else None
                for end in (lower, upper)
            )
            return replace(whole, ends=(first, last))
    assert isinstance(value, ast.Name)
    return _stored(assigner, value, arguments=arguments)


def _stored(assigner: Assigner, node: ast.Name, *, arguments: bool) -> Result:
    source, scope = assigner.reader.source, assigner.reader.scope
    if node.id not in scope.names:
        raise source.error(node, f"a kernel cannot return '{node.id}': it is not defined before")
    binding = assigner.reader.binding(node)
    if isinstance(binding, ArrayHandle):
        binding = whole(binding) if binding.array.shape else Value(binding[()])
    if isinstance(binding, ArrayValue):
        return _array(assigner, node, binding, arguments=arguments)
    if isinstance(binding, LocalNumber):
        scope.read(node.id, binding)
        kind = ResultKind.PYTHON_NUMBER if binding.is_weak else ResultKind.NUMPY_NUMBER
        is_chosen = bool(scope.alternatives.get(node.id))
        return Result(binding.handle.array.name, kind, is_chosen=is_chosen)
    assert isinstance(binding, Value)
    assigner.reader.require_fitting(binding, node)
    handle = assigner.arrays.declare(node, f"{node.id}_value", binding.dtype, ())
    assigner.put(node, handle, (), binding, is_new=True)
    kind = ResultKind.PYTHON_NUMBER if binding.is_weak else ResultKind.NUMPY_NUMBER
    return Result(handle.array.name, kind, is_chosen=bool(binding.alternatives))


def _array(assigner: Assigner, node: ast.Name, array: ArrayValue, *, arguments: bool) -> Result:
    source, name = assigner.reader.source, node.id
    if array.base is None:
        made = assigner.arrays.temporary(node, array, name)
        assert made.base is not None
        return Result(made.base.array.name, ResultKind.ARRAY)
    declared = array.base.array
    is_complete = array.shape == declared.shape or tuple(map(tidy, array.shape)) == tuple(
        map(tidy, declared.shape)
    )
    is_own = declared.role in (Role.OUTPUT, Role.TEMPORARY)
    is_bound = assigner.reader.scope.owned.get(name) is assigner.reader.scope.names.get(name)
    if is_own and is_complete and is_bound:
        return Result(declared.name, ResultKind.ARRAY)
    if is_own:
        made = assigner.arrays.temporary(node, copied(array), name)
        assert made.base is not None
        return Result(made.base.array.name, ResultKind.ARRAY)
    if arguments and _is_argument(assigner.reader.scope, name, array):
        return Result(declared.name, ResultKind.ARGUMENT)
    view = _view(array) if arguments else None
    if view is not None:
        _require_inside(assigner, node, view, declared.shape)
        return Result(declared.name, ResultKind.VIEW, view)
    if name != declared.name:
        raise source.error(
            node,
            f"this is a part of the argument '{declared.name}', which a kernel cannot return; "
            "return a copy, as in 'x[1:].copy()'",
        )
    raise source.error(
        node,
        f"a kernel cannot return '{name}': it is an argument, which the caller already has; end "
        "with 'return' alone",
    )


def _is_argument(scope: Scope, name: str, array: ArrayValue) -> bool:
    """Whether a name shows an argument as it was passed, not a part or a transposed view."""
    assert array.base is not None
    passed = scope.arguments.get(array.base.array.name)
    if passed is scope.names[name]:
        return True
    return isinstance(passed, ArrayHandle) and is_whole(array)


def _view(array: ArrayValue) -> View | None:
    """How a view's elements lie in its base; None unless indices step by literals."""
    assert array.place is not None
    rank = array.rank
    zeros = tuple(Constant(0) for _ in range(rank))
    start = tuple(map(tidy, array.place(zeros)))
    steps: list[tuple[int, ...]] = []
    for axis in range(rank):
        one = array.place((*zeros[:axis], Constant(1), *zeros[axis + 1 :]))
        by = [tidy(moved - first) for moved, first in zip(one, start, strict=True)]
        if not all(isinstance(part, Constant) for part in by):
            return None
        steps.append(tuple(int(part.value) for part in by if isinstance(part, Constant)))
    indices = tuple(Index(f"view_{axis}") for axis in range(rank))
    for number, place in enumerate(array.place(indices)):
        expected: Expression = start[number]
        for index, step in zip(indices, steps, strict=True):
            expected = expected + step[number] * index
        if tidy(place) != tidy(expected):
            return None
    parts = [node for value in (*start, *array.shape) for node in walk(value)]
    if any(isinstance(node, Index | Load) for node in parts):
        return None
    return View(array.shape, start, tuple(steps))


def _require_inside(
    assigner: Assigner, node: ast.Name, view: View, shape: tuple[Expression, ...]
) -> None:
    """Assume that the first element of a view is inside of its array; slices assume their ends."""
    for first, extent in zip(view.start, shape, strict=True):
        for outside in (first < 0, first >= extent):
            filled = reduce(and_, (length > 0 for length in view.shape), outside)
            if not assigner.reader.build.assume_never(filled):
                raise assigner.reader.source.error(node, "this is outside of the array")


def with_results(kernel: Kernel, returned: Returned) -> Kernel:
    """Make the arrays that hold results the outputs of a kernel, in the order of the results."""
    names = returned.outputs
    arrays = {}
    for array in kernel.arrays.values():
        role = array.role
        if role in (Role.OUTPUT, Role.TEMPORARY):
            role = Role.OUTPUT if array.name in names else Role.TEMPORARY
        arrays[array.name] = replace(array, role=role)
    outputs = iter([arrays[name] for name in names if arrays[name].role is Role.OUTPUT])
    ordered = [next(outputs) if array.role is Role.OUTPUT else array for array in arrays.values()]
    named: Mapping[str, object] = {array.name: array for array in ordered}
    return replace(kernel, arrays=MappingProxyType(named))  # type: ignore[arg-type]
