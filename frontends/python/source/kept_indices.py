"""Loop indices that are read after their loop get a variable for their last value.

::

    for i in range(n):                  assert n > 0
        if x[i] > top:                  i = 0
            break                 ->    for i_each in range(n):
    return i                                i = i_each
                                            if x[i_each] > top:
                                                break
                                        return i

Python raises an error if the loop has no iteration and nothing else gives the index a value, which
the assertion states. A loop that is not left before its end needs no store in each iteration:
the last value follows from the range.
"""

from __future__ import annotations

import ast
from collections.abc import Set
from copy import deepcopy
from dataclasses import dataclass

from polysched.frontends.python.source.changed_nodes import with_fields
from polysched.frontends.python.source.fresh_names import fresh_name
from polysched.frontends.python.source.liveness import is_never_read_after
from polysched.frontends.python.source.stored_names import assigned, rebound


def with_kept_indices(function: ast.FunctionDef, held: Set[str] = frozenset()) -> ast.FunctionDef:
    """The function in which no index of a loop is read after the loop.

    Args:
        held: the names that functions inside of it use.
    """
    taken = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    kept = _Kept(function, held, taken | arguments)
    body = kept.block(function.body, set(arguments), is_top=True)
    return function if body is function.body else with_fields(function, body=body)


@dataclass(frozen=True)
class _Kept:
    """The rewriting of one function; ``taken`` holds the names in use."""

    function: ast.FunctionDef
    held: Set[str]
    taken: set[str]

    def block(
        self, body: list[ast.stmt], bound: set[str], *, is_top: bool = False
    ) -> list[ast.stmt]:
        """Rewrite the loops of a block; return the same block if no loop changes.

        Args:
            bound: the variables that have a value, to which those of the block are added.
            is_top: whether every call runs the block.
        """
        done: list[ast.stmt] = []
        for position, node in enumerate(body):
            changed = node
            for name in ("body", "orelse"):
                inner = getattr(node, name, None)
                if isinstance(inner, list) and not isinstance(node, ast.FunctionDef):
                    new = self.block(inner, set(bound))
                    if new is not inner:
                        changed = with_fields(changed, **{name: new})
            made = [changed]
            if isinstance(node, ast.For) and isinstance(changed, ast.For):
                made = self._loop(node, changed, body[position + 1 :], bound, is_top=is_top)
            done += made
            is_top = is_top and not any(isinstance(part, ast.Return) for part in ast.walk(node))
            for statement in made:
                if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
                    bound |= rebound([statement])
        is_same = len(done) == len(body) and all(a is b for a, b in zip(done, body, strict=True))
        return body if is_same else done

    def _loop(
        self,
        node: ast.For,
        changed: ast.For,
        rest: list[ast.stmt],
        bound: set[str],
        *,
        is_top: bool,
    ) -> list[ast.stmt]:
        """The statements that a loop stands for.

        Args:
            node: the loop as written, for its place in the function.
            changed: the loop, whose body may be rewritten.
            rest: the statements after it in its block.
        """
        name, ends = _counted(node)
        if ends is None or name in self.held or name in assigned(node.body):
            return [changed]
        if _is_replaced(rest, name) or is_never_read_after(self.function, node, name):
            return [changed]
        is_unbound, needs_iteration = name not in bound, not _leaves_at_end(node)
        if is_unbound and not is_top and needs_iteration:
            return [changed]  # only calls can check that the loop has an iteration
        start, end, step = ends
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        if is_unbound and needs_iteration:
            order = ast.Lt() if step > 0 else ast.Gt()
            before.append(ast.Assert(ast.Compare(start, [order], [end]), None))
        inner, each = self._renamed(changed, name)
        store = ast.Name(name, ast.Store())
        if is_unbound and _runs_to_its_end(node):
            after.append(ast.Assign([store], _last(start, end, step)))
        else:
            if is_unbound:
                before.append(ast.Assign([store], ast.Constant(0)))
            inner.body = [ast.Assign([store], ast.Name(each, ast.Load())), *inner.body]
        for statement in (*before, inner, *after):
            for part in ast.walk(statement):
                if isinstance(part, ast.expr | ast.stmt) and not hasattr(part, "lineno"):
                    ast.copy_location(part, node.iter)
        bound.add(name)
        return [*before, inner, *after]

    def _renamed(self, node: ast.For, name: str) -> tuple[ast.For, str]:
        """A loop with an index of its own, and that index."""
        each, inner = self._fresh(f"{name}_each"), deepcopy(node)
        for part in (inner.target, *inner.body):
            for within in ast.walk(part):
                if isinstance(within, ast.Name) and within.id == name:
                    within.id = each
        return inner, each

    def _fresh(self, hint: str) -> str:
        name = fresh_name(hint, self.taken)
        self.taken.add(name)
        return name


def _leaves_at_end(node: ast.For) -> bool:
    """Whether nothing after a loop runs unless it is left before its end."""
    return bool(node.orelse) and isinstance(node.orelse[-1], ast.Return | ast.Break | ast.Continue)


def _runs_to_its_end(node: ast.For) -> bool:
    """Whether a loop is never left, and its range is the same after it."""
    if node.orelse or rebound(node.body) & {
        part.id for part in ast.walk(node.iter) if isinstance(part, ast.Name)
    }:
        return False
    return not any(
        isinstance(part, ast.Break | ast.Return)
        for statement in node.body
        for part in ast.walk(statement)
    )


def _counted(node: ast.For) -> tuple[str, tuple[ast.expr, ast.expr, int] | None]:
    """The index of a loop that counts, and its range; ``enumerate(x)`` counts to ``len(x)``."""
    match node:
        case ast.For(target=ast.Name(id=name), iter=iterated):
            return name, _range(iterated)
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=name), _]),
            iter=ast.Call(
                func=ast.Name(id="enumerate"), args=[ast.Name(id=array) as first], keywords=[]
            ),
        ) if array not in rebound(node.body):
            length = ast.Call(ast.Name("len", ast.Load()), [first], [])
            return name, (ast.Constant(0), length, 1)
    return "", None


def _range(node: ast.expr) -> tuple[ast.expr, ast.expr, int] | None:
    """The start, the end and the literal step of a range; None for another sequence."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[end], keywords=[]):
            return ast.Constant(0), end, 1
        case ast.Call(func=ast.Name(id="range"), args=[start, end], keywords=[]):
            return start, end, 1
        case ast.Call(func=ast.Name(id="range"), args=[start, end, by], keywords=[]):
            try:
                step = ast.literal_eval(by)
            except ValueError:
                return None
            return (start, end, step) if isinstance(step, int) and step else None
    return None


def _last(start: ast.expr, end: ast.expr, step: int) -> ast.expr:
    """The last value of a range that has one."""
    toward = 1 if step > 0 else -1
    final = ast.BinOp(end, ast.Sub(), ast.Constant(toward))
    if abs(step) == 1:
        return final
    length = ast.BinOp(final, ast.Sub(), start)
    count = ast.BinOp(length, ast.FloorDiv(), ast.Constant(step))
    return ast.BinOp(start, ast.Add(), ast.BinOp(count, ast.Mult(), ast.Constant(step)))


def _is_replaced(rest: list[ast.stmt], name: str) -> bool:
    """Whether another loop over the same index is the next statement that uses it."""
    for node in rest:
        if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node)):
            return (
                isinstance(node, ast.For)
                and isinstance(node.target, ast.Name)
                and node.target.id == name
            )
    return False
