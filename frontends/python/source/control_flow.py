"""Rewrite ``continue``, ``break`` and early ``return`` as branches.

::

    for i in range(n):                  found = False
        if x[i] < 0:                    for i in range(n):
            continue               ->       if not found:
        if x[i] > top:                          if x[i] < 0:
            break                                   pass
        total += x[i]                           elif x[i] > top:
                                                    found = True
                                                else:
                                                    total += x[i]

The loop still counts to its end after a ``break``, but computes nothing. ``return`` in a loop
stores the result and breaks all loops around.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Set
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeVar

from polysched.errors import FrontendError
from polysched.frontends.python.source.changed_nodes import with_fields
from polysched.frontends.python.source.liveness import is_never_read_after

_MOST_COPIES = 64
"""Limit on the copies of statements that follow a branch which may leave its block."""

NodeT = TypeVar("NodeT", bound=ast.AST)

_Exit = ast.Continue | ast.Break | ast.Return


@dataclass(frozen=True)
class _Block:
    """Where a block is.

    Attributes:
        left: the variables that tell whether the loops around have been left, the innermost last;
            an empty name for a loop that is never left.
    """

    left: tuple[str, ...] = ()


def end_of(node: ast.stmt) -> ast.expr | None:
    """Return the condition of the ``break`` that is the last statement of ``while True:``."""
    match node:
        case ast.While(
            test=ast.Constant(value=True),
            body=[*_, ast.If(test=end, body=[ast.Break()], orelse=[])],
        ):
            return end
    return None


def structured(
    node: ast.FunctionDef,
    error: Callable[[ast.AST, str], FrontendError],
    held: Set[str] = frozenset(),
) -> ast.FunctionDef:
    """A function without ``continue``, ``break``, and ``return`` before its last statement.

    Args:
        held: the names that functions inside of it use.
    """
    *before, last = node.body
    is_final = isinstance(last, ast.Return)
    walked = [part for item in (before if is_final else node.body) for part in ast.walk(item)]
    if not any(
        isinstance(part, _Exit) or (isinstance(part, ast.For) and part.orelse) for part in walked
    ):
        return node
    for part in walked:
        if isinstance(part, ast.Try | ast.TryStar):
            raise error(part, "'try' is not supported: compiled code raises no exceptions")
    returns = [part for part in walked if isinstance(part, ast.Return)]
    if not returns:
        body, final = (before, [last]) if is_final else (node.body, [])
        flow = _ControlFlow(node, error, None, held)
        return with_fields(node, body=[*flow.block(body, _Block()), *final])
    if isinstance(last, ast.Return):
        returns.append(last)
    counts = {_length(part.value) for part in returns}
    if len(counts) > 1 or (None not in counts and not _leaves(node.body)):
        raise error(
            returns[0],
            "expected every path to return, and as many values as the other returns; after a loop "
            "or a 'with' there has to be a return",
        )
    flow = _ControlFlow(node, error, returns[-1].value, held)
    body = flow.block(node.body, _Block())
    return with_fields(node, body=[*body, *flow.final_return()])


class _ControlFlow:
    """The rewriting of one function.

    Args:
        result: the value of its last ``return``, if there are others.
        held: the names that functions inside of it use.
    """

    def __init__(
        self,
        function: ast.FunctionDef,
        error: Callable[[ast.AST, str], FrontendError],
        result: ast.expr | None,
        held: Set[str],
    ) -> None:
        self._taken = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
        self._taken |= {n.arg for n in ast.walk(function) if isinstance(n, ast.arg)}
        self._error = error
        self._function, self._held = function, held
        self._copies = 0
        self._names: list[str] = []
        self._result = result
        self._is_started = False
        if isinstance(result, ast.Tuple):
            self._names = [self._fresh("result") for _ in result.elts]
        elif result is not None:
            self._names = [self._fresh("result")]

    def final_return(self) -> list[ast.stmt]:
        """The statement that returns the result."""
        if self._result is None:
            return []
        return [ast.copy_location(ast.Return(self._of_names(ast.Load())), self._result)]

    def _of_names(self, context: ast.expr_context) -> ast.expr:
        assert self._result is not None
        names: list[ast.expr] = [
            ast.copy_location(ast.Name(name, context), self._result) for name in self._names
        ]
        if not isinstance(self._result, ast.Tuple):
            return names[0]
        return ast.copy_location(ast.Tuple(names, context), self._result)

    def _returned(self, node: ast.Return) -> list[ast.stmt]:
        if node.value is None or self._result is None:
            return []
        return [ast.copy_location(ast.Assign([self._of_names(ast.Store())], node.value), node)]

    def _started(self, node: ast.stmt) -> list[ast.stmt]:
        """Assignments that give the result a value before a loop that may return another one."""
        if self._is_started or self._result is None:
            return []
        self._is_started = True
        result = self._result
        values = result.elts if isinstance(result, ast.Tuple) else [result]
        return [
            ast.copy_location(
                ast.Assign(
                    [ast.copy_location(ast.Name(name, ast.Store()), node)],
                    value if _is_literal(value) else ast.copy_location(ast.Constant(0), node),
                ),
                node,
            )
            for name, value in zip(self._names, values, strict=True)
        ]

    def _fresh(self, hint: str) -> str:
        name, number = hint, 1
        while name in self._taken:
            number += 1
            name = f"{hint}_{number}"
        self._taken.add(name)
        return name

    def block(self, body: list[ast.stmt], block: _Block) -> list[ast.stmt]:
        """Rewrite the statements of a block."""
        done: list[ast.stmt] = []
        for position, node in enumerate(body):
            rest = body[position + 1 :]
            if isinstance(node, _Exit):
                return [*done, *self._left(node, block)]
            if isinstance(node, ast.For):
                if _is_left(node.body) or node.orelse:
                    return [*done, *self._loop(node, rest, block)]
                done.append(with_fields(node, body=self.block(node.body, block)))
            elif isinstance(node, ast.If):
                if _is_left([node]):
                    return [*done, self._branch(node, rest, block)]
                sides = [self.block(side, block) for side in (node.body, node.orelse)]
                done.append(with_fields(node, body=sides[0], orelse=sides[1]))
            elif isinstance(node, ast.While | ast.With):
                exits = [part for part in ast.walk(node) if isinstance(part, _Exit)]
                last = node.body[-1:] if end_of(node) is not None else []
                inside = node.body[: len(node.body) - len(last)]
                if _is_left(inside):
                    raise self._error(exits[0], "this is supported in 'for' loops and 'if' only")
                done.append(with_fields(node, body=[*self.block(inside, block), *last]))
            else:
                done.append(node)
        return done

    def _left(self, node: ast.stmt, block: _Block) -> list[ast.stmt]:
        match node:
            case ast.Break() if block.left:
                return [_set(node, block.left[-1], value=True)]
            case ast.Return():
                flags = [_set(node, name, value=True) for name in block.left if name]
                return [*self._returned(node), *flags]
        return []

    def _branch(self, node: ast.If, rest: list[ast.stmt], block: _Block) -> ast.If:
        """Move the statements after a branch into the sides that do not leave the block."""
        sides = []
        follow = 0
        for side in (node.body, node.orelse):
            is_left = _leaves(side)
            follow += not is_left
            sides.append(self.block([*side, *([] if is_left else rest)], block))
        self._copies += follow > 1
        if self._copies > _MOST_COPIES:
            raise self._error(node, "there are too many ways through these branches; simplify them")
        nothing: ast.stmt = ast.copy_location(ast.Pass(), node)
        return with_fields(node, body=sides[0] or [nothing], orelse=sides[1])

    def _with_last(self, node: ast.For, body: list[ast.stmt]) -> tuple[ast.expr, list[ast.stmt]]:
        """The target and body of a loop whose variables keep the values of its ``break``.

        The loop counts on, with names of its own for the elements that are read after it.
        """
        named = {part.id: part for part in ast.walk(node.target) if isinstance(part, ast.Name)}
        after = [
            name
            for name in named
            if name in self._held or not is_never_read_after(self._function, node, name)
        ]
        if not after or (isinstance(node.target, ast.Name) and _is_range(node.iter)):
            return node.target, body
        target, kept = deepcopy(node.target), []
        fresh = {name: self._fresh(f"{name}_each") for name in after}
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and part.id in fresh:
                value = ast.copy_location(ast.Name(fresh[part.id], ast.Load()), part)
                kept.append(ast.copy_location(ast.Assign([named[part.id]], value), node))
                part.id = fresh[part.id]
        return target, [*kept, *body]

    def _loop(self, node: ast.For, rest: list[ast.stmt], block: _Block) -> list[ast.stmt]:
        """A loop that is left, and the statements after it."""
        result = with_fields(node, orelse=[])
        is_broken = any(isinstance(part, ast.Break) for part in _own(node.body))
        returns = any(isinstance(part, ast.Return) for item in node.body for part in ast.walk(item))
        if not is_broken and not returns:
            result.body = self.block(node.body, _Block((*block.left, "")))
            return [result, *self.block([*node.orelse, *rest], block)]
        flag = self._fresh("left")
        start = [*(self._started(node) if returns else []), _set(node, flag, value=False)]
        inner = self.block(node.body, _Block((*block.left, flag)))
        if is_broken:
            result.target, inner = self._with_last(node, inner)
        test = ast.copy_location(ast.UnaryOp(ast.Not(), _name(node, flag)), node)
        result.body = [ast.copy_location(ast.If(test, inner, []), node)]
        if returns:
            if is_broken:
                raise self._error(
                    node, "a loop with both 'break' and 'return' is not supported; use one of them"
                )
            after = self.block([*node.orelse, *rest], block)
            if not after:
                return [*start, result]
            return [*start, result, ast.copy_location(ast.If(test, after, []), node)]
        unless = [ast.copy_location(ast.If(test, node.orelse, []), node)] if node.orelse else []
        return [*start, result, *self.block([*unless, *rest], block)]


def _length(value: ast.expr | None) -> int | None:
    """The number of values that a ``return`` gives as a tuple, 0 for one value, None for none."""
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return None
    return len(value.elts) if isinstance(value, ast.Tuple) else 0


def _is_range(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    )


def _is_literal(node: ast.expr) -> bool:
    part = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(part, ast.Constant) and isinstance(part.value, bool | int | float)


def _is_left(body: list[ast.stmt]) -> bool:
    """Whether statements may leave their block; exits from inner loops to it do not."""
    is_return = any(isinstance(part, ast.Return) for node in body for part in ast.walk(node))
    return is_return or any(isinstance(part, ast.Continue | ast.Break) for part in _own(body))


def _own(body: list[ast.stmt]) -> list[ast.AST]:
    """The statements in a block, without those inside of its loops."""
    found: list[ast.AST] = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.For | ast.While):
            found += _own(node.orelse)
        else:
            inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            found += _own(inner)
    return found


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether statements leave their block on every path."""
    for node in body:
        if isinstance(node, _Exit):
            return True
        if isinstance(node, ast.If) and _leaves(node.body) and _leaves(node.orelse):
            return True
    return False


def _name(node: ast.AST, name: str) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), node)


def _set(node: ast.stmt, name: str, *, value: bool) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), node)
    constant = ast.copy_location(ast.Constant(value), node)
    return ast.copy_location(ast.Assign([target], constant), node)
