"""Rewrite loops whose bounds are data as loops over all iterations that may run.

::

    for k in range(ptr[i], ptr[i + 1]):        k_start = ptr[i]; k_end = ptr[i + 1]
        s += val[k] * x[col[k]]           ->   for k in range(0, len(val)):
                                                   if k_start <= k and k < k_end:
                                                       s += val[k] * x[col[k]]

Code generation trims the loop again (:mod:`polysched.loops.trim_no_ops`). Where a loop would leave
the array that its index subscripts, a check stores the line, and the call raises an error at its
end, as for other subscripts from data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

from polysched.errors import FrontendError
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.bindings import ComputedLearnedError
from polysched.frontends.python.source.changed_nodes import NodeT, with_fields
from polysched.frontends.python.source.stored_names import assigned
from polysched.frontends.python.statements.assignments import Assigner
from polysched.frontends.python.statements.computed_subscripts import line_outside
from polysched.frontends.python.statements.ranges import is_range
from polysched.frontends.python.values.value import Value
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import cast, minimum
from polysched.ir.expr.linear import FAR
from polysched.ir.expr.traversal import loads


def with_data_bounds(assigner: Assigner, node: ast.For) -> list[ast.stmt] | None:
    """The statements that a loop with bounds from data stands for; None for all other loops.

    Raises:
        FrontendError: a bound is not an integer.
    """
    reader = assigner.reader
    if not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
        return None
    bounds = node.iter.args
    if len(bounds) not in (1, 2) or node.orelse or not is_range(reader.outer(node.iter.func)):
        return None
    is_data = [_is_data(reader, bound) for bound in bounds]
    if not any(is_data) or node.target.id in assigned(node.body):
        return None
    made: list[ast.stmt] = []
    names: list[ast.expr] = []
    for side, bound, is_read in zip(("start", "end")[-len(bounds) :], bounds, is_data, strict=True):
        names.append(bound)
        if is_read and not _is_kept(bound, node):
            name = reader.scope.variable(f"{node.target.id}_{side}")
            made.append(_at(bound, ast.Assign([_at(bound, ast.Name(name, ast.Store()))], bound)))
            names[-1] = _at(bound, ast.Name(name, ast.Load()))
    if made:
        return [*made, with_fields(node, iter=with_fields(node.iter, args=names))]
    start = bounds[0] if len(bounds) == 2 else _at(node.iter, ast.Constant(0))
    return [_guarded(assigner, node, start, bounds[-1])]


def _guarded(assigner: Assigner, node: ast.For, start: ast.expr, end: ast.expr) -> ast.stmt:
    """The loop over all iterations that may run, with a condition around its body."""
    assert isinstance(node.target, ast.Name)
    reader, index = assigner.reader, _at(node.iter, ast.Name(node.target.id, ast.Load()))
    reader.scope.data_loops[node.target.id] = node.iter
    extents = _extents(node)
    least: ast.expr = _at(node.iter, ast.Constant(0 if extents else -FAR))
    most: ast.expr = _at(node.iter, ast.Constant(FAR))
    if extents:
        most = extents[0]
        if extents[1:]:
            most = _at(most, ast.Call(_at(most, ast.Name("min", ast.Load())), extents, []))
    outside: list[Expression] = []
    conditions: list[ast.expr] = []
    first, last = (_number(reader, bound) for bound in (start, end))
    if _is_data(reader, start):
        conditions.append(
            _at(start, ast.Compare(_held(reader, start, first), [ast.LtE()], [index]))
        )
        outside.append(first < reader.value(least).expression)
        start = least
    if _is_data(reader, end):
        conditions.append(_at(end, ast.Compare(index, [ast.Lt()], [_held(reader, end, last)])))
        outside.append(reader.value(most).expression < last)
        end = most
    _check(assigner, node.iter, (first < last) & reduce(or_, outside))
    test = conditions[0]
    if conditions[1:]:
        test = _at(node.iter, ast.BoolOp(ast.And(), conditions))
    call = with_fields(node.iter, args=[start, end])
    body = [ast.copy_location(ast.If(test, node.body, []), node)]
    return with_fields(node, iter=call, body=body)


def _number(reader: Reader, bound: ast.expr) -> Expression:
    """A bound as a signed number; no iteration is as far as `FAR`."""
    value = reader.value(bound)
    expression = value.expression
    if value.dtype.bits == 64 and not value.dtype.is_signed:
        expression = minimum(expression, Constant(FAR, value.dtype))
    return cast(expression, i64)


def _held(reader: Reader, node: ast.expr, number: Expression) -> ast.expr:
    """A new name for a number."""
    name = reader.scope.variable("bound")
    reader.scope.names[name] = Value(number, is_weak=True)
    return _at(node, ast.Name(name, ast.Load()))


def _check(assigner: Assigner, node: ast.expr, is_outside: Expression) -> None:
    """Store the line of a loop that leaves the arrays which its index subscripts."""
    reader, scope = assigner.reader, assigner.reader.scope
    if scope.index_arrays is None:  # the ranges of subscripts are declared
        return
    if scope.outside is None:
        raise ComputedLearnedError
    found = line_outside(reader, node, is_outside, scope.guards)
    assigner.put(node, scope.outside, (), Value(found, is_weak=True), is_new=True)


def _is_data(reader: Reader, bound: ast.expr) -> bool:
    """Whether a bound reads data."""
    try:
        value = reader.value(bound)
    except FrontendError:
        return False  # refused where the loop is translated
    return value.dtype.is_integer and bool(loads(value.expression))


def _is_kept(bound: ast.expr, node: ast.For) -> bool:
    """Whether a bound is a variable that the loop does not change."""
    return isinstance(bound, ast.Name) and bound.id not in assigned(node.body)


def _extents(node: ast.For) -> list[ast.expr]:
    """The extents of the dimensions that the index of a loop subscripts in every iteration.

    If there is no such dimension, the dimensions that it subscripts under conditions count.
    """
    assert isinstance(node.target, ast.Name)
    return _subscripted(_always(node.body), node.target.id) or _subscripted(
        ast.walk(node), node.target.id
    )


def _subscripted(nodes: Iterable[ast.AST], index: str) -> list[ast.expr]:
    """The extents of the dimensions that an index subscripts, each once."""
    found: dict[tuple[str, int], ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for position, part in enumerate(parts):
                if isinstance(part, ast.Name) and part.id == index:
                    shape = _at(node, ast.Attribute(node.value, "shape", ast.Load()))
                    at = _at(node, ast.Constant(position))
                    extent = _at(node, ast.Subscript(shape, at, ast.Load()))
                    found[node.value.id, position] = extent
    return list(found.values())


def _always(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that every iteration evaluates."""
    for node in nodes:
        match node:
            case ast.If(test=inner) | ast.IfExp(test=inner) | ast.For(iter=inner):
                yield from _always([inner])
            case ast.BoolOp(values=[first, *_]):
                yield from _always([first])
            case ast.While() | ast.GeneratorExp() | ast.ListComp():
                pass
            case _:
                yield node
                yield from _always(ast.iter_child_nodes(node))


def _at(place: ast.AST, node: NodeT) -> NodeT:
    return ast.copy_location(node, place)
