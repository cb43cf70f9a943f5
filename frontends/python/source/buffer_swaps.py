"""Loops that swap two buffers: ``for t in range(n): ...; a, b = b, a``.

The names of an array are bound when a function is read, so the loop is written out twice: the
second copy has the names exchanged. An odd last iteration follows. What the function reads of a
swapped name afterwards is a copy of the array to which the name is bound then::

    for t in range(n):        for pair in range(n // 2):
        b[:] = f(a)               b[:] = f(a)
        a, b = b, a               a[:] = f(b)
    return a              ->  if n % 2 == 1 and n > 0:
                                  b[:] = f(a)
                              a_after = a.copy()
                              if n % 2 == 1 and n > 0:
                                  a_after[:] = b
                              return a_after
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeVar

NodeT = TypeVar("NodeT", bound=ast.AST)
_BUILT_IN = frozenset({"abs", "float", "int", "len", "max", "min", "range"})
_OF_BOUNDS = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
_UNSUITED = (ast.Break, ast.Continue, ast.Return)


@dataclass(frozen=True)
class _Swap:
    """A loop that ends with a swap.

    Attributes:
        target: the variable of the loop.
        lower, upper: the bounds of its range.
        names: the two names.
    """

    loop: ast.For
    target: str
    lower: ast.expr
    upper: ast.expr
    names: tuple[str, str]

    def body(self, place: ast.expr, *, exchanged: bool) -> list[ast.stmt]:
        """The statements of one iteration."""
        first, second = self.names
        names = {first: second, second: first} if exchanged else {}
        renaming = _Renaming(names, {self.target: place})
        return [renaming.visit(deepcopy(one)) for one in self.loop.body[:-1]]


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str], values: Mapping[str, ast.expr]) -> None:
        self.names = names
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.values:
            return _at(deepcopy(self.values[node.id]), node)
        node.id = self.names.get(node.id, node.id)
        return node


def without_swaps(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with the loops of its body that swap two buffers written out twice.

    A function that stores in a swapped name after its loop stays as it is.
    """
    body = list(function.body)
    position = 0
    while position < len(body):
        swap, later = _swap(body[position]), body[position + 1 :]
        names = _names(later)
        used = [] if swap is None else [name for name in swap.names if name in names]
        is_bound = swap is not None and bool(_stored(later) & {*used})
        is_quiet = not used or (not is_bound and _is_quiet(later, _numbers(function)))
        if swap is not None and is_quiet and swap.target not in names:
            after = {name: _fresh(f"{name}_after", function) for name in used}
            renaming = _Renaming(after, {})
            made = _written_out(swap, _fresh(f"{swap.target}_pair", function), after)
            body[position:] = [*made, *(renaming.visit(deepcopy(one)) for one in later)]
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
    match node.body[-1]:
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(first), ast.Name(second)])],
            value=ast.Tuple(elts=[ast.Name(third), ast.Name(fourth)]),
        ) if first != second and (first, second) == (fourth, third):
            rest = [part for one in node.body[:-1] for part in ast.walk(one)]
            bounds = [part for bound in (lower, upper) for part in ast.walk(bound)]
            if _stored(node.body[:-1]) & {first, second, node.target.id, *_names(bounds)}:
                return None
            if not all(isinstance(part, _OF_BOUNDS) for part in bounds):
                return None
            if any(isinstance(one, _UNSUITED) for one in rest) or len(node.body) == 1:
                return None
            return _Swap(node, node.target.id, lower, upper, (first, second))
    return None


def _written_out(swap: _Swap, pair: str, after: Mapping[str, str]) -> list[ast.stmt]:
    """The statements that replace a loop; the names that are used after it get new arrays."""
    loop = swap.loop
    count = ast.BinOp(swap.upper, ast.Sub(), swap.lower)
    index = ast.Name(pair, ast.Load())
    first = ast.BinOp(swap.lower, ast.Add(), ast.BinOp(ast.Constant(2), ast.Mult(), index))
    second = ast.BinOp(first, ast.Add(), ast.Constant(1))
    pairs = ast.Call(
        ast.Name("range", ast.Load()), [ast.BinOp(count, ast.FloorDiv(), ast.Constant(2))], []
    )
    twice = [*swap.body(first, exchanged=False), *swap.body(second, exchanged=True)]
    last = ast.BinOp(swap.upper, ast.Sub(), ast.Constant(1))
    result: list[ast.stmt] = [
        ast.For(ast.Name(pair, ast.Store()), pairs, twice, []),
        ast.If(_is_odd(count), swap.body(last, exchanged=False), []),
    ]
    for name, new in after.items():
        other = swap.names[name == swap.names[0]]
        copy = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "copy", ast.Load()), [], [])
        result.append(ast.Assign([ast.Name(new, ast.Store())], copy))
        everything = ast.Subscript(ast.Name(new, ast.Load()), ast.Slice(), ast.Store())
        moved = ast.Assign([everything], ast.Name(other, ast.Load()))
        result.append(ast.If(_is_odd(count), [moved], []))
    return [_at(one, loop) for one in result]


def _is_odd(count: ast.expr) -> ast.expr:
    is_odd = ast.Compare(
        ast.BinOp(count, ast.Mod(), ast.Constant(2)), [ast.Eq()], [ast.Constant(1)]
    )
    return ast.BoolOp(ast.And(), [is_odd, ast.Compare(count, [ast.Gt()], [ast.Constant(0)])])


def _at(node: NodeT, place: ast.AST) -> NodeT:
    """A new node with the position of another; parts that have one keep it."""
    for part in ast.walk(node):
        if isinstance(part, ast.expr | ast.stmt) and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node


def _is_quiet(statements: Iterable[ast.stmt], numbers: set[str]) -> bool:
    """Whether statements only read arrays, so that copies of arrays do for the arrays themselves.

    Args:
        numbers: the names that are set to a literal, which ``+=`` therefore does not store in.
    """
    return all(
        _reads_only(node, numbers) for statement in statements for node in ast.walk(statement)
    )


def _reads_only(node: ast.AST, numbers: set[str]) -> bool:
    match node:
        case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()) | ast.Expr():
            return False
        case ast.AugAssign(target=target):
            return isinstance(target, ast.Name) and target.id in numbers
        case ast.Call(func=func, keywords=keywords):
            is_known = not isinstance(func, ast.Name) or func.id in _BUILT_IN
            return is_known and not any(one.arg == "out" for one in keywords)
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
    return {one.id for one in parts if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}


def _fresh(name: str, function: ast.FunctionDef) -> str:
    taken = _names([function])
    while name in taken:
        name += "_"
    return name
