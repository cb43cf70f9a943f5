"""Loops over literal sequences, written out: ``for dy, dx in ((0, 1), (1, 0)):``.

The sequence is a tuple or list of the function or outside of it, also in ``enumerate``, ``zip`` and
``reversed``. Sums over generators, ``sum(x[i + k] for k in (-1, 0, 1))``, are written out too, or
become loops.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from copy import copy
from functools import reduce

from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.specialized import specialized_expression
from polysched.frontends.python.source.tuple_names import literal_tree

MOST_ITEMS = 16
"""Items of a sequence whose loop is written out."""
_OF_NUMBERS = (range, min, max, abs, int, float, len)


def written_out(reader: Reader, node: ast.For) -> list[ast.stmt] | None:
    """The statements of a loop over literals; None if it iterates over something else, or over
    literal integers at equal distances, which a loop counts."""
    items = literal_items(reader, node.iter)
    if items is None and _selects_subscripts(reader, node):
        items = _counted(reader, node.iter)
    if items is None or len(items) > MOST_ITEMS:
        return None
    is_literal = isinstance(node.iter, ast.Tuple | ast.List)
    is_counted = is_literal and isinstance(node.target, ast.Name) and _is_spaced(items)
    if is_counted and not _is_argument(reader, _name(node.target), node.body):
        return None
    done: list[ast.stmt] = []
    for item in items:
        done.append(ast.copy_location(ast.Assign([node.target], item), node.iter))
        done += node.body
    return done


def _selects_subscripts(reader: Reader, node: ast.For) -> bool:
    """Whether the index of a loop selects constants outside that are parts of subscripts.

    ``y[i + DX[k]] = x[i]`` has subscripts that do not depend on data if ``k`` is a literal.
    """
    return isinstance(node.target, ast.Name) and any(
        isinstance(part, ast.Subscript)
        and reader.is_numbers(part.value)
        and _names(part.slice, node.target.id)
        for statement in node.body
        for whole in ast.walk(statement)
        if isinstance(whole, ast.Subscript) and not reader.is_numbers(whole.value)
        for part in ast.walk(whole.slice)
    )


def literal_items(reader: Reader, node: ast.expr) -> list[ast.expr] | None:
    """The items of a sequence of numbers, or of tuples of numbers; None if they are not known."""
    if isinstance(node, ast.Tuple | ast.List):
        return node.elts if node.elts and all(map(_is_literal, node.elts)) else None
    if isinstance(node, ast.Name) and reader.is_numbers(node):
        tree = literal_tree(reader.source.outer[node.id])
        return None if tree is None else [_placed(element, node) for element in tree.elts]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return None
    if reader.is_inside(node.func) and node.func.id in reader.scope.names:
        return None
    name, arguments = node.func.id, node.args
    if reader.source.outer.get(name) not in (enumerate, zip, reversed) or not arguments:
        return None
    parts = [
        literal_items(reader, argument) or _counted(reader, argument) for argument in arguments
    ]
    known = [part for part in parts if part is not None]
    is_sequence = any(literal_items(reader, argument) is not None for argument in arguments)
    if len(known) < len(parts) or not is_sequence:
        return None
    if name == "zip":
        return [_tuple(list(items), node) for items in zip(*known, strict=False)]
    if len(arguments) > 1:
        return None
    if name == "reversed":
        return known[0][::-1]
    return [
        _tuple([_placed(ast.Constant(position), node), item], node)
        for position, item in enumerate(known[0])
    ]


def summed(reader: Reader, node: ast.expr) -> ast.expr | None:
    """A sum over literal sequences as one expression; None if a sequence is not literal."""
    if not isinstance(node, ast.GeneratorExp | ast.ListComp):
        parts = node.elts if isinstance(node, ast.Tuple | ast.List) else literal_items(reader, node)
        if parts is None:
            return None
        start: ast.expr = ast.Constant(0)
        return _placed(reduce(lambda a, b: ast.BinOp(a, ast.Add(), b), parts, start), node)
    sequences = [literal_items(reader, generator.iter) for generator in node.generators]
    if sequences == [None]:
        sequences = [_counted(reader, node.generators[0].iter)]
    known = [sequence for sequence in sequences if sequence is not None]
    if len(known) < len(sequences):
        return None
    total: ast.expr = _placed(ast.Constant(0), node)
    for number, items in enumerate(itertools.product(*known)):
        if number == MOST_ITEMS * MOST_ITEMS:
            return None
        values: dict[str, ast.expr] = {}
        for generator, item in zip(node.generators, items, strict=True):
            if not _bind(values, generator.target, item):
                return None
        tests = [
            specialized_expression(test, values)
            for generator in node.generators
            for test in generator.ifs
        ]
        if not all(isinstance(test, ast.Constant) for test in tests):
            return None
        if all(isinstance(test, ast.Constant) and test.value for test in tests):
            term = specialized_expression(node.elt, values)
            total = _placed(ast.BinOp(total, ast.Add(), term), node)
    return total


def summing(node: ast.GeneratorExp | ast.ListComp, total: str) -> list[ast.stmt]:
    """The statements that add the terms of a generator to a variable that starts with 0."""
    store, load = (_placed(ast.Name(total, context), node) for context in (ast.Store(), ast.Load()))
    added = ast.Assign([store], _placed(ast.BinOp(load, ast.Add(), node.elt), node))
    body: ast.stmt = ast.copy_location(added, node)
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = ast.copy_location(ast.If(test, [body], []), node)
        body = ast.copy_location(ast.For(generator.target, generator.iter, [body], []), node)
    start = ast.copy_location(ast.Assign([store], _placed(ast.Constant(0), node)), node)
    return [start, body]


def _bind(values: dict[str, ast.expr], target: ast.expr, item: ast.expr) -> bool:
    if isinstance(target, ast.Name):
        values[target.id] = item
        return True
    if isinstance(target, ast.Tuple) and isinstance(item, ast.Tuple | ast.List):
        same = len(target.elts) == len(item.elts)
        pairs = zip(target.elts, item.elts, strict=False)
        return same and all(_bind(values, target, part) for target, part in pairs)
    return False


def _counted(reader: Reader, node: ast.expr) -> list[ast.expr] | None:
    """The items of ``range(literal)``."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(end))], keywords=[]):
            if reader.source.outer.get("range") is range and end <= MOST_ITEMS:
                return [_placed(ast.Constant(index), node) for index in range(end)]
    return None


def _is_argument(reader: Reader, name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether a variable is an argument of a call that may ask for a literal."""
    for part in (node for statement in body for node in ast.walk(statement)):
        if isinstance(part, ast.Call):
            given = [*part.args, *(keyword.value for keyword in part.keywords)]
            function = part.func.id if isinstance(part.func, ast.Name) else ""
            is_of_numbers = reader.source.outer.get(function) in _OF_NUMBERS
            if not is_of_numbers and any(_names(part, name) for part in given):
                return True
    return False


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.expr, name: str) -> bool:
    part = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(part, ast.Name) and part.id == name


def _is_spaced(items: Sequence[ast.expr]) -> bool:
    values = [ast.literal_eval(item) for item in items]
    if not all(type(value) is int for value in values):
        return False
    steps = {later - earlier for earlier, later in itertools.pairwise(values)}
    return len(steps) < 2 and 0 not in steps


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(_is_literal, node.elts))
    part = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(part, ast.Constant) and type(part.value) in (bool, int, float)


def _tuple(items: list[ast.expr], node: ast.AST) -> ast.expr:
    return _placed(ast.Tuple(items, ast.Load()), node)


def _placed(node: ast.expr, place: ast.AST) -> ast.expr:
    result = copy(node)
    for part in ast.walk(result):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return result
