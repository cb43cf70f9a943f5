"""Loops that exchange buffers: ``for t in range(n): ...; a, b = b, a``, or three in turn.

The names of an array are bound when a function is read, so the loop is written out as often as it
takes until each name has its first array again: each copy has the names exchanged once more. The
remaining iterations follow. Reads of a name afterwards see a copy of the array to
which the name is bound then::

    for t in range(n):        for round in range(n // 2):
        b[:] = f(a)               b[:] = f(a)
        a, b = b, a               a[:] = f(b)
    return a              ->  if n % 2 >= 1 and n > 0:
                                  b[:] = f(a)
                              assert a.dtype == b.dtype and a.shape == b.shape
                              a_after = a.copy()
                              if n % 2 == 1 and n > 0:
                                  a_after[:] = b
                              return a_after

An exchange by way of another name, as in ``c = a; a = b; b = c``, is the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Set
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from polysched.frontends.python.source.called_functions import meant, original, split_output

NodeT = TypeVar("NodeT", bound=ast.AST)
_BUILT_IN = frozenset({"abs", "float", "int", "len", "max", "min", "range"})
_OF_BOUNDS = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
LONGEST_PERIOD = 6
"""Copies of the body of a loop that exchanges buffers; two and three in turn take six."""
_UNSUITED = (ast.Break, ast.Continue, ast.Return)


@dataclass(frozen=True)
class _Swap:
    """A loop that ends with an exchange of names.

    Attributes:
        target: the variable of the loop.
        lower, upper: the bounds of its range.
        body: the statements before the exchange.
        bound: for each name, the name of the array to which it is bound next.
        spare: the names that only the exchange uses.
    """

    loop: ast.For
    target: str
    lower: ast.expr
    upper: ast.expr
    body: list[ast.stmt]
    bound: Mapping[str, str]
    spare: Set[str]

    def after(self, rounds: int) -> dict[str, str]:
        """The array of each name after some iterations, called by its first name."""
        names = {name: name for name in self.bound}
        for _ in range(rounds):
            names = {name: names[other] for name, other in self.bound.items()}
        return names

    @property
    def period(self) -> int:
        """The iterations after which each name has its first array again."""
        period = 1
        while any(name != other for name, other in self.after(period).items()):
            period += 1
        return period

    def copied(self, place: ast.expr, rounds: int) -> list[ast.stmt]:
        """The statements of one iteration, after some iterations."""
        renaming = _Renaming(self.after(rounds), {self.target: place})
        return [renaming.visit(deepcopy(statement)) for statement in self.body]


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str], values: Mapping[str, ast.expr]) -> None:
        self.names = names
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.values:
            return _at(deepcopy(self.values[node.id]), node)
        node.id = self.names.get(node.id, node.id)
        return node


def without_swaps(
    function: ast.FunctionDef, outer: Mapping[str, Any], held: Set[str]
) -> ast.FunctionDef:
    """The function with the loops of its body that exchange buffers written out.

    A function that stores in an exchanged name after its loop stays as it is.

    Args:
        outer: the values of the names outside of the function.
        held: the names that functions inside of it use, which see the exchange.
    """
    body = list(function.body)
    position = 0
    while position < len(body):
        swap, later = _swap(body[position]), body[position + 1 :]
        names = _names(later)
        if swap is not None and (
            swap.spare & _names([*body[:position], *swap.body, *later])
            or held & {*swap.bound, *swap.spare, swap.target}
        ):
            swap = None
        used = [] if swap is None else [name for name in swap.bound if name in names]
        is_bound = swap is not None and bool(_stored(later) & {*used})
        is_quiet = not used or (not is_bound and _is_quiet(later, _numbers(function), outer))
        if swap is not None and is_quiet and swap.target not in names:
            after = {name: _fresh(f"{name}_after", function) for name in used}
            renaming = _Renaming(after, {})
            made = _written_out(swap, _fresh(f"{swap.target}_round", function), after)
            body[position:] = [*made, *(renaming.visit(deepcopy(statement)) for statement in later)]
            position += len(made) - 1
        position += 1
    if len(body) == len(function.body):
        return function
    result = deepcopy(function)
    result.body = body
    return result


def _swap(node: ast.stmt) -> _Swap | None:
    """The loop with a swap that a statement is; None for other statements."""
    if not isinstance(node, ast.For) or node.orelse or not isinstance(node.target, ast.Name):
        return None
    match node.iter:
        case ast.Call(func=ast.Name("range"), args=[upper], keywords=[]):
            lower: ast.expr = _at(ast.Constant(0), node.iter)
        case ast.Call(func=ast.Name("range"), args=[lower, upper], keywords=[]):
            pass
        case _:
            return None
    body, bound, spare = _exchange(node.body)
    rest = [part for statement in body for part in ast.walk(statement)]
    bounds = [part for limit in (lower, upper) for part in ast.walk(limit)]
    if (
        not (body and bound)
        or _stored(body) & {*bound, node.target.id, *_names(bounds)}
        or not all(isinstance(part, _OF_BOUNDS) for part in bounds)
        or any(isinstance(part, _UNSUITED) for part in rest)
    ):
        return None
    swap = _Swap(node, node.target.id, lower, upper, body, bound, spare)
    return swap if swap.period <= LONGEST_PERIOD else None


def _exchange(body: list[ast.stmt]) -> tuple[list[ast.stmt], dict[str, str], set[str]]:
    """Split off the exchange of names at the end of a loop.

    Returns:
        the statements before it, the name whose array each name gets, and names that are only used
        to exchange others. No name changes if the end is no exchange.
    """
    start = len(body)
    while start and _name_pairs(body[start - 1]):
        start -= 1
        names: dict[str, str] = {}
        for node in body[start:]:
            names.update({name: names.get(other, other) for name, other in _name_pairs(node)})
        spare = names.keys() - {*names.values()}
        bound = {name: other for name, other in names.items() if name not in {other, *spare}}
        if bound and {*bound.values()} == bound.keys():
            return body[:start], bound, spare
    return body, {}, set()


def _name_pairs(node: ast.stmt) -> list[tuple[str, str]]:
    """The targets and values of an assignment of names to names; nothing for other statements."""
    match node:
        case ast.Assign(targets=[ast.Name(target)], value=ast.Name(value)):
            return [(target, value)]
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = [
                (target.id, value.id)
                for target, value in zip(targets, values, strict=False)
                if isinstance(target, ast.Name) and isinstance(value, ast.Name)
            ]
            is_whole = len(pairs) == len(targets) == len(values)
            return pairs if is_whole and len({target for target, _ in pairs}) == len(pairs) else []
    return []


def _written_out(swap: _Swap, index: str, after: Mapping[str, str]) -> list[ast.stmt]:
    """The statements that replace a loop; the names that are used after it get new arrays."""
    period = swap.period
    count = ast.BinOp(swap.upper, ast.Sub(), swap.lower)
    rounds = ast.BinOp(count, ast.FloorDiv(), ast.Constant(period))

    def place(round_: ast.expr, number: int) -> ast.expr:
        first = ast.BinOp(ast.Constant(period), ast.Mult(), round_)
        start = ast.BinOp(swap.lower, ast.Add(), first)
        return ast.BinOp(start, ast.Add(), ast.Constant(number)) if number else start

    name = ast.Name(index, ast.Load())
    every = [statement for k in range(period) for statement in swap.copied(place(name, k), k)]
    called = ast.Call(ast.Name("range", ast.Load()), [rounds], [])
    result: list[ast.stmt] = [ast.For(ast.Name(index, ast.Store()), called, every, [])]
    for number in range(period - 1):
        remains = _remaining(count, period, ast.GtE(), number + 1)
        result.append(ast.If(remains, swap.copied(place(rounds, number), number), []))
    first, *others = swap.bound if after else ("",)
    for other in others:
        result += _alike(first, other)
    for old, new in after.items():
        copy = ast.Call(ast.Attribute(ast.Name(old, ast.Load()), "copy", ast.Load()), [], [])
        result.append(ast.Assign([ast.Name(new, ast.Store())], copy))
        for number in range(1, period):
            other = swap.after(number)[old]
            if other != old:
                everything = ast.Subscript(ast.Name(new, ast.Load()), ast.Slice(), ast.Store())
                moved = ast.Assign([everything], ast.Name(other, ast.Load()))
                result.append(ast.If(_remaining(count, period, ast.Eq(), number), [moved], []))
    return [_at(statement, swap.loop) for statement in result]


def _alike(first: str, second: str) -> list[ast.stmt]:
    """Assertions that two arrays have one type and one shape."""
    reason = ast.Constant(
        f"the number of iterations decides which array '{first}' is after this loop; expected "
        f"'{first}' and '{second}' to have one type and one shape"
    )
    tests = []
    for attribute in ("dtype", "shape"):
        left, right = (
            ast.Attribute(ast.Name(name, ast.Load()), attribute, ast.Load())
            for name in (first, second)
        )
        tests.append(ast.Compare(left, [ast.Eq()], [right]))
    return [ast.Assert(test, reason) for test in tests]


def _remaining(count: ast.expr, period: int, how: ast.cmpop, number: int) -> ast.expr:
    """The condition on the number of iterations that remain after whole rounds."""
    rest = ast.BinOp(count, ast.Mod(), ast.Constant(period))
    remains = ast.Compare(rest, [how], [ast.Constant(number)])
    return ast.BoolOp(ast.And(), [remains, ast.Compare(count, [ast.Gt()], [ast.Constant(0)])])


def _at(node: NodeT, place: ast.AST) -> NodeT:
    """A new node with the position of another; parts that have one keep it."""
    for part in ast.walk(node):
        if isinstance(part, ast.expr | ast.stmt) and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node


def _is_quiet(statements: Iterable[ast.stmt], numbers: set[str], outer: Mapping[str, Any]) -> bool:
    """Whether statements only read arrays, so that copies of arrays do for the arrays themselves.

    Args:
        numbers: the names that are set to a literal, which ``+=`` therefore does not store in.
    """
    return all(
        _reads_only(node, numbers, outer)
        for statement in statements
        for node in ast.walk(statement)
    )


def _reads_only(node: ast.AST, numbers: set[str], outer: Mapping[str, Any]) -> bool:
    match node:
        case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()) | ast.Expr():
            return False
        case ast.AugAssign(target=target):
            return isinstance(target, ast.Name) and target.id in numbers
        case ast.Call(func=func):
            if isinstance(func, ast.Name):
                return func.id in _BUILT_IN
            function = meant(func, outer)
            return original(function) is None and split_output(function, node) is None
    return True


def _numbers(function: ast.FunctionDef) -> set[str]:
    """The names that a function sets to a literal."""
    return {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    parts = [part for node in nodes for part in ast.walk(node)]
    return {
        part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _fresh(name: str, function: ast.FunctionDef) -> str:
    taken = _names([function])
    while name in taken:
        name += "_"
    return name
