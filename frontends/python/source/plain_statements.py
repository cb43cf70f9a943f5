"""Rewrite statements that stand for several simpler ones.

::

    if (d := x[i] - m) > 0:                       d = x[i] - m
        total += d                          ->    if d > 0:
                                                      total += d

    del t                                   ->    (nothing, if nothing reads t afterwards)

    while abs(z) < 2 and k < most:                for _ in range(k, most):
        z = f(z)                            ->        if not abs(z) < 2:
        k += 1                                            break
                                                      z = f(z)
                                                      k += 1
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polysched.errors import FrontendError
from polysched.frontends.python.source.changed_nodes import with_fields
from polysched.frontends.python.source.fresh_names import fresh_name
from polysched.frontends.python.source.liveness import is_never_read_after
from polysched.frontends.python.source.stored_names import assigned, rebound

Error = Callable[[ast.AST, str], FrontendError]


def plain(function: ast.FunctionDef, error: Error, *, is_inlined: bool) -> ast.FunctionDef:
    """The function with simpler statements; itself if it has none of these.

    Args:
        is_inlined: whether it is read in the place of a call. Otherwise, its ``while`` loops that
            are in no other statement stay, because code for their parts runs them.

    Raises:
        FrontendError: an assignment expression or a ``del`` has no such form.
    """
    forms = ast.NamedExpr | ast.Delete | ast.While
    if not any(isinstance(node, forms) for node in ast.walk(function)):
        return function
    taken = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    rewriting = _Plain(function, error, taken)
    body = rewriting.block(function.body, keeps_loops=not is_inlined)
    return with_fields(function, body=body)


@dataclass(frozen=True)
class _Plain:
    """The rewriting of one function.

    Attributes:
        taken: the names that are in use.
    """

    function: ast.FunctionDef
    error: Error
    taken: set[str]

    def block(self, body: list[ast.stmt], *, keeps_loops: bool = False) -> list[ast.stmt]:
        """Rewrite the statements of a block."""
        done = [
            statement
            for position, node in enumerate(body)
            for statement in self._statement(node, body[:position], keeps_loops=keeps_loops)
        ]
        return done or [ast.copy_location(ast.Pass(), body[0])]

    def _statement(
        self, node: ast.stmt, earlier: list[ast.stmt], *, keeps_loops: bool
    ) -> list[ast.stmt]:
        if isinstance(node, ast.FunctionDef):
            return [plain(node, self.error, is_inlined=True)]
        if isinstance(node, ast.Delete):
            return self._deleted(node)
        before: list[ast.stmt] = []
        if isinstance(node, ast.While):
            node = node if keeps_loops else self._bounded(node, earlier)
        if any(isinstance(part, ast.NamedExpr) for part in _own_nodes(node)):
            before, node = self._without_assignments(node)
            if isinstance(node, ast.While):
                if _continues(node):
                    raise self.error(
                        node, "the condition of this loop with 'continue' assigns; write the "
                        "assignment before the loop, and at the end of each iteration"
                    )  # fmt: skip
                node = with_fields(node, body=[*node.body, *before])
        for name in ("body", "orelse"):
            inner = getattr(node, name, None)
            if isinstance(inner, list) and inner:
                node = with_fields(node, **{name: self.block(inner)})
        return [*before, node]

    def _deleted(self, node: ast.Delete) -> list[ast.stmt]:
        """Remove ``del t``: nothing may read ``t`` afterwards."""
        for target in node.targets:
            if not isinstance(target, ast.Name):
                raise self.error(target, "'del' is supported for names of variables only")
            if not is_never_read_after(self.function, node, target.id):
                raise self.error(target, f"'{target.id}' may be read after this 'del'")
        return []

    def _without_assignments(self, node: ast.stmt) -> tuple[list[ast.stmt], ast.stmt]:
        """Assignments in front of a statement in place of those in its expressions."""
        before: list[ast.stmt] = []
        read = _names(node.target) if isinstance(node, ast.AugAssign) else set()

        def visit(part: ast.expr) -> ast.expr:
            """Replace the assignments that Python always evaluates, in its order."""
            if isinstance(part, ast.NamedExpr):
                name, is_read = part.target.id, part.target.id in read
                value = visit(part.value)
                if is_read:
                    raise self.error(
                        part, f"this changes '{name}', which the expression has read before; "
                        "write the assignment as a statement of its own"
                    )  # fmt: skip
                before.append(ast.copy_location(ast.Assign([part.target], value), part))
                read.add(name)
                return ast.copy_location(ast.Name(name, ast.Load()), part)
            if isinstance(part, ast.Name):
                read.add(part.id)
                return part
            return with_children(part)

        def with_children(part: ast.expr) -> ast.expr:
            changed: dict[str, object] = {}
            always = _evaluated(part)
            for name, value in ast.iter_fields(part):
                inner = value if isinstance(value, list) else [value]
                new = []
                for child in inner:
                    is_always = any(child is each for each in always)
                    new.append(visit(child) if is_always else child)
                    if isinstance(child, ast.AST) and not is_always:
                        read.update(_names(child))
                if any(rewritten is not other for rewritten, other in zip(new, inner, strict=True)):
                    changed[name] = new if isinstance(value, list) else new[0]
            return with_fields(part, **changed) if changed else part

        fields = {
            name: visit(value)
            for name, value in ast.iter_fields(node)
            if isinstance(value, ast.expr) and name in ("value", "test", "iter")
        }
        result = with_fields(node, **fields)
        for part in _own_nodes(result):
            if isinstance(part, ast.NamedExpr):
                raise self.error(
                    part, "Python may not evaluate this assignment; write it as a statement of its "
                    "own, under the condition that it depends on"
                )  # fmt: skip
        return before, result

    def _bounded(self, node: ast.While, earlier: list[ast.stmt]) -> ast.stmt:
        """A loop that ends at a count or under another condition, as one that counts.

        Args:
            earlier: the statements before it in its block.
        """
        match node:
            case ast.While(
                test=ast.BoolOp(op=ast.And(), values=operands) as joined,
                body=[
                    *_,
                    ast.AugAssign(
                        target=ast.Name(id=counter), op=ast.Add(), value=ast.Constant(value=1)
                    ),
                ],
                orelse=[],
            ):
                pass
            case _:
                return node
        others = assigned(node.body[:-1])
        steps = [
            part
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and part.id == counter and isinstance(part.ctx, ast.Store)
        ]
        if len(steps) != 1 or _continues(node):
            return node
        for position, operand in enumerate(operands):
            end = _end(operand, counter)
            if end is None or {counter, *others} & _names(end) or not _is_size(end):
                continue
            rest = [*operands[:position], *operands[position + 1 :]]
            test = rest[0] if len(rest) == 1 else with_fields(joined, values=rest)
            leave = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
            loop = ast.For(
                ast.Name(self._fresh("each"), ast.Store()),
                ast.Call(ast.Name("range", ast.Load()), [_start(counter, earlier), end], []),
                [leave, *node.body],
                [],
            )
            return _placed(loop, node)
        return node

    def _fresh(self, hint: str) -> str:
        name = fresh_name(hint, self.taken)
        self.taken.add(name)
        return name


def _end(node: ast.expr, counter: str) -> ast.expr | None:
    """The end of a range of which ``k < end`` or ``k <= end`` is the condition."""
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[end]) if name == counter:
            is_inclusive = isinstance(op, ast.LtE)
            is_known = isinstance(op, ast.Lt | ast.LtE)
        case ast.Compare(left=end, ops=[op], comparators=[ast.Name(id=name)]) if name == counter:
            is_inclusive = isinstance(op, ast.GtE)
            is_known = isinstance(op, ast.Gt | ast.GtE)
        case _:
            return None
    if not is_known:
        return None
    return ast.BinOp(end, ast.Add(), ast.Constant(1)) if is_inclusive else end


def _start(counter: str, earlier: list[ast.stmt]) -> ast.expr:
    """The value of a counter before its loop: the literal of its assignment, or its name."""
    for node in reversed(earlier):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value) if (
                name == counter
            ):
                return value
        if not isinstance(node, ast.Assign) or counter in rebound([node]):
            break
    return ast.Name(counter, ast.Load())


def _own_nodes(node: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of the expressions of a statement, without those of statements inside of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from ast.walk(child)


def _evaluated(node: ast.expr) -> list[ast.AST]:
    """The parts of an expression that Python evaluates whenever it evaluates the expression."""
    match node:
        case ast.BoolOp(values=[first, *_]):
            return [first]
        case ast.IfExp(test=test):
            return [test]
        case ast.Compare(left=left, comparators=[first, *_]):
            return [left, first]
        case ast.Lambda() | ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return []
    return list(ast.iter_child_nodes(node))


def _inside(node: ast.stmt) -> Iterator[ast.AST]:
    """The statements of a block, without those of loops in it."""
    yield node
    if not isinstance(node, ast.For | ast.While):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from _inside(child)


def _continues(node: ast.While) -> bool:
    return any(
        isinstance(part, ast.Continue) for statement in node.body for part in _inside(statement)
    )


def _is_size(node: ast.expr) -> bool:
    """Whether a value reads no element of an array: ``n - 1``, ``len(x)``, ``x.shape[0]``."""
    return not any(
        isinstance(part, ast.Subscript) and not isinstance(part.value, ast.Attribute)
        for part in ast.walk(node)
    )


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _placed(node: ast.stmt, place: ast.stmt) -> ast.stmt:
    for part in ast.walk(node):
        if not hasattr(part, "lineno") and isinstance(part, ast.expr | ast.stmt):
            ast.copy_location(part, place)
    return node
