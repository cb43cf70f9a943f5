"""Rewrite loops over elements, and loops that count with ``while``, as loops over ``range``.

::

    for i, v in enumerate(x):           for i in range(len(x)):
        ...                        ->       v = x[i]
                                            ...

    while i < n:                        for i in range(i, n, 2):
        ...                        ->       ...
        i += 2                          i = (the value after the last iteration)
"""

from __future__ import annotations

import ast
from collections.abc import Set
from copy import copy

import numpy as np

from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import ArrayValue, always, require_same
from polysched.frontends.python.scope.bindings import array_of
from polysched.frontends.python.source.changed_nodes import with_fields
from polysched.frontends.python.source.stored_names import assigned, rebound
from polysched.frontends.python.statements.literal_loops import written_out
from polysched.frontends.python.values.affinity import is_affine_number
from polysched.frontends.python.values.value import Value
from polysched.ir.expr.functions import equal

_COUNTING = (
    "expected a loop that counts: 'while i < n:' with a last statement 'i += 1', where nothing "
    "else in it changes i or n; for other conditions, write 'for i in range(most):' with "
    "'if not condition: break' first"
)

_INDICES = (np.arange, np.ndindex, np.ndenumerate)
"""Functions of numpy whose results are the indices of a loop."""


def as_range_loops(reader: Reader, node: ast.stmt) -> list[ast.stmt]:
    """The statements that a statement stands for: itself, unless it is a loop of these forms."""
    if isinstance(node, ast.While):
        return _counting(reader, node)
    if isinstance(node, ast.For) and not node.orelse:
        items = written_out(reader, node)
        if items is not None:
            return items
        rows = _rows(reader, node)
        if rows is not None:
            return [rows]
        made: list[ast.stmt] = []
        node = with_fields(node, iter=_named(reader, node.iter, made))
        return [*made, node] if made else [_over_range(reader, node)]
    return [node]


def _rows(reader: Reader, node: ast.For) -> ast.For | None:
    """``for v in x.ravel():`` as loops over the rows of ``x`` and their elements.

    None if it is another loop, or if its body uses the array, because it may then change elements
    that the loop reads later.
    """
    match node.iter:
        case ast.Call(func=ast.Attribute(attr="ravel" | "flatten") as part, args=[], keywords=[]):
            owner = part.value
        case ast.Attribute(value=owner, attr="flat"):
            pass
        case _:
            return None
    if not isinstance(owner, ast.Name):
        return None
    names = reader.scope.names
    array = array_of(names.get(owner.id))
    if array is None or reader.array(owner).rank < 2:
        return None
    used = {
        part.id
        for statement in node.body
        for part in ast.walk(statement)
        if isinstance(part, ast.Name)
    }
    if any(array_of(names.get(name)) is array for name in used):
        return None
    text = _Text(node.iter)
    row = reader.scope.variable("row")
    elements = text.name(row)
    if reader.array(owner).rank > 2:
        elements = text.at(ast.Call(text.at(ast.Attribute(elements, "ravel", ast.Load())), [], []))
    inner = with_fields(node, iter=elements)
    target = text.at(ast.Name(row, ast.Store()))
    return with_fields(node, target=target, iter=owner, body=[inner])


def _named(reader: Reader, node: ast.expr, made: list[ast.stmt]) -> ast.expr:
    """The operand of a loop, with names for computed arrays, such as ``x.ravel()``."""
    function = _called(reader, node)
    if function in (enumerate, zip) and isinstance(node, ast.Call):
        arguments = [_named(reader, argument, made) for argument in node.args]
        is_same = all(
            argument is other for argument, other in zip(arguments, node.args, strict=True)
        )
        return node if is_same else with_fields(node, args=arguments)
    base = node
    while isinstance(base, ast.Subscript):
        base = base.value
    is_part = base is not node and not isinstance(base, ast.Name | ast.Attribute)
    is_method = isinstance(node, ast.Call) and function is None
    is_numpy = isinstance(function, np.ufunc) or getattr(function, "__module__", "") == "numpy"
    is_function = (is_numpy and function not in _INDICES) or function is abs
    if not (isinstance(node, ast.BinOp) or is_part or is_method or is_function):
        return node
    name = reader.scope.variable("items")
    made.append(_Text(node).store(ast.copy_location(ast.Name(name, ast.Store()), node), node))
    return ast.copy_location(ast.Name(name, ast.Load()), node)


def _over_range(reader: Reader, node: ast.For) -> ast.For:
    function = _called(reader, node.iter)
    if function is reversed:
        return _reversed(reader, node)
    is_array = not isinstance(node.iter, ast.Call) and _is_array(reader, node.iter)
    if not is_array and function not in (enumerate, zip):
        return node
    bound = _bound_anew(reader, node)
    if bound is not None:
        raise reader.source.error(
            bound, f"the loop gives '{bound.id}' another value; expected a name that it keeps"
        )
    text = _Text(node.iter)
    index = _index(reader, node, function)
    lengths: list[ast.expr] = []
    assignments: list[ast.stmt] = []
    _unpack(reader, text, node.target, node.iter, index, lengths, assignments)
    length = _shortest(reader, text, lengths)
    result = copy(node)
    result.target = ast.copy_location(ast.Name(index, ast.Store()), node.target)
    result.iter = text.call("range", length)
    result.body = [*assignments, *node.body]
    return result


def _bound_anew(reader: Reader, node: ast.For) -> ast.Name | None:
    """A name that a loop iterates over and gives another value; Python keeps the first one."""
    names = reader.scope.names
    again = rebound([ast.copy_location(ast.For(node.target, node.iter, node.body, []), node)])
    numbers = {name for name in assigned(node.body) if array_of(names.get(name)) is None}
    for part in ast.walk(node.iter):
        if isinstance(part, ast.Name) and part.id in again | numbers:
            return part
    return None


class _Text:
    """Makes syntax trees at the position of a node."""

    def __init__(self, node: ast.expr) -> None:
        self.node = node

    def at(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(node, self.node)

    def name(self, name: str) -> ast.expr:
        return self.at(ast.Name(name, ast.Load()))

    def number(self, value: int) -> ast.expr:
        return self.at(ast.Constant(value))

    def call(self, function: str, *arguments: ast.expr) -> ast.expr:
        return self.at(ast.Call(self.name(function), list(arguments), []))

    def binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
        return self.at(ast.BinOp(left, op, right))

    def store(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        return ast.copy_location(ast.Assign([target], value), self.node)


def _called(reader: Reader, node: ast.expr) -> object:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return None
    if reader.is_inside(node.func):
        return None
    return reader.outer(node.func)


def _is_array(reader: Reader, node: ast.expr) -> bool:
    if not isinstance(node, ast.Name | ast.Subscript | ast.Attribute):
        return False
    if isinstance(node, ast.Name) and node.id not in reader.scope.names:
        return reader.is_numbers(node)
    return isinstance(reader.operand(node), ArrayValue)


def _index(reader: Reader, node: ast.For, function: object) -> str:
    """The loop's index: the user's own if ``enumerate`` counts from 0, else a new one."""
    if function is enumerate and isinstance(node.iter, ast.Call):
        is_plain = len(node.iter.args) == 1 and not node.iter.keywords
        if is_plain and isinstance(node.target, ast.Tuple):
            first = node.target.elts[0]
            if isinstance(first, ast.Name) and first.id not in assigned(node.body):
                return first.id
    return reader.scope.variable("each")


def _unpack(
    reader: Reader,
    text: _Text,
    target: ast.expr,
    source: ast.expr,
    index: str,
    lengths: list[ast.expr],
    assignments: list[ast.stmt],
) -> None:
    """Collect the lengths of the sequences of a loop, and the assignments of its targets."""
    function = _called(reader, source)
    arguments = source.args if isinstance(source, ast.Call) else []
    if function is enumerate and isinstance(source, ast.Call):
        start = arguments[1] if len(arguments) == 2 else None
        for keyword in source.keywords:
            start = keyword.value
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not arguments:
            raise reader.source.error(target, "expected two names: the number and the element")
        counter, inner = target.elts
        if not (isinstance(counter, ast.Name) and counter.id == index):
            value = text.name(index)
            value = value if start is None else text.binary(value, ast.Add(), start)
            assignments.append(text.store(counter, value))
        _unpack(reader, text, inner, arguments[0], index, lengths, assignments)
    elif function is zip and isinstance(source, ast.Call):
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(targets) != len(arguments):
            raise reader.source.error(target, f"expected {len(arguments)} names")
        inner_lengths: list[ast.expr] = []
        for one, part in zip(targets, arguments, strict=True):
            _unpack(reader, text, one, part, index, inner_lengths, assignments)
        if _is_strict(reader, source):
            _require_equal(reader, source, inner_lengths)
        lengths.extend(inner_lengths)
    elif function is range and len(arguments) in (1, 2, 3):
        length, value = _range(reader, text, arguments, text.name(index))
        lengths.append(length)
        assignments.append(text.store(target, value))
    elif _is_array(reader, source) and reader.array(source).base is not None:
        lengths.append(text.call("len", source))
        element = text.at(ast.Subscript(source, text.name(index), ast.Load()))
        assignments.append(text.store(target, element))
    else:
        raise reader.source.error(
            source, "expected an array, range(...), enumerate(...) or zip(...)"
        )


def _range(
    reader: Reader, text: _Text, arguments: list[ast.expr], index: ast.expr
) -> tuple[ast.expr, ast.expr]:
    """The length of a range, and its element at an index."""
    zero = text.number(0)
    if len(arguments) == 1:
        return text.call("max", arguments[0], zero), index
    start, end, *by = arguments
    step = reader.value(by[0]).literal if by else 1
    if not isinstance(step, int) or step == 0:
        raise reader.source.error(by[0], "expected a step that is a literal other than 0")
    length = text.binary(end, ast.Sub(), start)
    if by:
        index = text.binary(index, ast.Mult(), by[0])
        length = length if step > 0 else text.binary(start, ast.Sub(), end)
        rounded = text.binary(length, ast.Add(), text.number(abs(step) - 1))
        length = text.binary(rounded, ast.FloorDiv(), text.number(abs(step)))
    return text.call("max", length, zero), text.binary(start, ast.Add(), index)


def _is_strict(reader: Reader, node: ast.Call) -> bool:
    """Whether ``zip`` requires equal lengths."""
    match node.keywords:
        case []:
            return False
        case [ast.keyword(arg="strict", value=ast.Constant(value=bool(strict)))]:
            return strict
    raise reader.source.error(node, "expected zip(...) with strict=True, strict=False or without")


def _require_equal(reader: Reader, node: ast.Call, lengths: list[ast.expr]) -> None:
    first, *others = (reader.value(length).expression for length in lengths)
    if not all(require_same(reader.build, first, other) for other in others):
        raise reader.source.error(node, "the lengths differ, which strict=True does not allow")


def _shortest(reader: Reader, text: _Text, lengths: list[ast.expr]) -> ast.expr:
    """The least of several lengths, each of which is named once."""
    kept: list[ast.expr] = []
    for length in lengths:
        value = reader.value(length).expression
        known = [reader.value(other).expression for other in kept]
        if not any(other == value or always(reader.build, equal(other, value)) for other in known):
            kept.append(length)
    return kept[0] if len(kept) == 1 else text.call("min", *kept)


def _reversed(reader: Reader, node: ast.For) -> ast.For:
    """``for i in reversed(range(a, b))``."""
    assert isinstance(node.iter, ast.Call)
    inner, text = node.iter.args[0] if node.iter.args else node.iter, _Text(node.iter)
    if _called(reader, inner) is not range or not isinstance(inner, ast.Call):
        raise reader.source.error(node.iter, "expected reversed(range(...))")
    if len(inner.args) not in (1, 2):
        raise reader.source.error(inner, "expected a range without a step; write range(b, a, -1)")
    start = inner.args[0] if len(inner.args) == 2 else text.number(0)
    one = text.number(1)
    result = copy(node)
    result.iter = text.call(
        "range",
        text.binary(inner.args[-1], ast.Sub(), one),
        text.binary(start, ast.Sub(), one),
        text.number(-1),
    )
    return result


def _counting(reader: Reader, node: ast.While) -> list[ast.stmt]:
    """A ``while`` that counts, as a ``for`` and an assignment of the last value."""
    source = reader.source
    if node.orelse:
        raise source.error(node.orelse[0], "a loop's 'else' is not supported")
    match node.test:
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[bound]):
            is_below, is_inclusive = isinstance(op, ast.Lt | ast.LtE), isinstance(op, ast.LtE)
        case ast.Compare(left=bound, ops=[op], comparators=[ast.Name(id=name)]):
            is_below, is_inclusive = isinstance(op, ast.Gt | ast.GtE), isinstance(op, ast.GtE)
        case _:
            raise source.error(node.test, _COUNTING)
    is_inclusive = is_inclusive or isinstance(op, ast.GtE | ast.LtE)
    if not isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        raise source.error(node.test, _COUNTING)
    *body, last = node.body
    changed = rebound(body)
    step = _step(reader, last, name, {name, *changed})
    names = {part.id for part in ast.walk(bound) if isinstance(part, ast.Name)}
    is_left = any(
        isinstance(part, ast.Continue | ast.Break)
        for statement in body
        for part in ast.walk(statement)
    )
    if not step or (step > 0) != is_below or name in changed or names & {*changed, name} or is_left:
        raise source.error(node.test, _COUNTING)
    start, end = reader.scope.names.get(name), reader.value(bound)
    if not isinstance(start, Value) or not is_affine_number(start) or not is_affine_number(end):
        raise source.error(
            node.test, f"{_COUNTING}; '{name}' starts with an integer of sizes and indices"
        )
    text = _Text(node.test)
    first = reader.scope.variable(f"{name}_start")
    direction = text.number(1 if step > 0 else -1)
    stop = text.binary(bound, ast.Add(), direction) if is_inclusive else bound
    span = text.binary(stop, ast.Sub(), text.name(first))
    if step < 0:
        span = text.binary(text.name(first), ast.Sub(), stop)
    rounded = text.binary(span, ast.Add(), text.number(abs(step) - 1))
    times = text.binary(rounded, ast.FloorDiv(), text.number(abs(step)))
    moved = text.binary(text.call("max", times, text.number(0)), ast.Mult(), text.number(step))
    target = ast.copy_location(ast.Name(name, ast.Store()), node.test)
    held = ast.copy_location(ast.Name(first, ast.Store()), node.test)
    loop = ast.For(
        target,
        text.call("range", text.name(first), stop, text.number(step)),
        body or [ast.copy_location(ast.Pass(), node)],
        [],
    )
    return [
        text.store(held, text.name(name)),
        ast.copy_location(loop, node),
        text.store(target, text.binary(text.name(first), ast.Add(), moved)),
    ]


def _step(reader: Reader, node: ast.stmt, name: str, changed: Set[str]) -> int | None:
    """The literal that a statement adds to a name; None if it does something else.

    Args:
        changed: names whose values before the loop are not those of later iterations.
    """
    match node:
        case ast.AugAssign(target=ast.Name(id=target), op=ast.Add() | ast.Sub() as op, value=value):
            pass
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Sub() as op, right=value),
        ) if left == name:
            pass
        case _:
            return None
    used = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
    literal = None if used & changed else reader.value(value).literal
    if target != name or not isinstance(literal, int):
        return None
    return literal if isinstance(op, ast.Add) else -literal
