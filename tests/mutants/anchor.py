"""Find the anchor of a mutant in the syntax tree of its module, and put the mistake there."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mutants.mutant import Mutant


class AnchorError(LookupError):
    """The code has no such place, or more than one."""


@dataclass(frozen=True)
class _Match:
    """A field of ``node``, or ``count`` items from ``start`` on if the field is a list."""

    node: ast.AST
    field: str
    start: int
    count: int

    @property
    def items(self) -> list[ast.AST]:
        value = getattr(self.node, self.field)
        return value[self.start : self.start + self.count] if isinstance(value, list) else [value]

    @property
    def position(self) -> tuple[int, int]:
        first = self.items[0]
        assert isinstance(first, ast.expr | ast.stmt)
        return first.lineno, first.col_offset

    def put(self, items: list[ast.AST]) -> None:
        value = getattr(self.node, self.field)
        if isinstance(value, list):
            value[self.start : self.start + self.count] = items
        else:
            (item,) = items
            setattr(self.node, self.field, item)


def mutated(source: str, mutant: Mutant) -> str:
    """Return the program of ``source`` with the mistake, as Python code without comments.

    Raises:
        AnchorError: the anchor is not found, or found more than once, or the mistake is none.
    """
    tree = ast.parse(source)
    apply(tree, mutant)
    return ast.unparse(ast.fix_missing_locations(tree))


def apply(tree: ast.Module, mutant: Mutant) -> None:
    """Change the tree; see `mutated`."""
    match = locate(tree, mutant)
    if mutant.in_text:
        (constant,) = match.items
        assert isinstance(constant, ast.Constant)
        constant.value = constant.value.replace(mutant.find, mutant.replace)
    else:
        match.put(_patterns(mutant)[1])


def locate(tree: ast.Module, mutant: Mutant) -> _Match:
    """Find the anchor of ``mutant``, and check that the mistake changes the program.

    Raises:
        AnchorError: see `mutated`.
    """
    found, replacement = _patterns(mutant)
    if _same(found, replacement):
        raise AnchorError(f"mutant '{mutant.name}' changes nothing")
    scopes = _definitions(tree, mutant.where)
    if not scopes:
        raise AnchorError(
            f"mutant '{mutant.name}': {mutant.module} does not define '{mutant.where}'; name the "
            "function, class or variable that holds the anchor now"
        )
    matches = [match for scope in scopes for match in _matches(scope, found, mutant.in_text)]
    matches.sort(key=lambda match: match.position)
    is_found = len(matches) == 1 if mutant.index is None else mutant.index < len(matches)
    if not is_found:
        expected = "once" if mutant.index is None else f"at least {mutant.index + 1} times"
        raise AnchorError(
            f"mutant '{mutant.name}': '{mutant.where or mutant.module}' in {mutant.file} holds "
            f"this {len(matches)} times, expected {expected}; the code has changed, so change the "
            f"mutant in tests/mutants:\n{mutant.find}"
        )
    return matches[mutant.index or 0]


def _patterns(mutant: Mutant) -> tuple[list[ast.AST], list[ast.AST]]:
    """What is looked for and what replaces it: one expression each, or lists of statements."""
    if mutant.in_text:
        return [ast.Constant(mutant.find)], [ast.Constant(mutant.replace)]
    found, replacement = _parsed(mutant.find), _parsed(mutant.replace)
    if _is_expression(found) and _is_expression(replacement):
        return [found[0].value], [replacement[0].value]
    return [*found], [*replacement]


def _parsed(code: str) -> list[ast.stmt]:
    return ast.parse(textwrap.dedent(code).strip()).body


def _is_expression(statements: list[ast.stmt]) -> bool:
    return len(statements) == 1 and isinstance(statements[0], ast.Expr)


def _definitions(tree: ast.AST, where: str) -> list[ast.AST]:
    """The definitions of a qualified name: several for a property with a setter, say."""
    scopes = [tree]
    for name in where.split(".") if where else []:
        scopes = [inner for scope in scopes for inner in _inside(scope) if name in _names(inner)]
    return scopes


def _inside(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements inside a definition, but not those inside another one in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from _inside(child)


def _names(statement: ast.stmt) -> list[str]:
    """What a statement defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _matches(scope: ast.AST, found: list[ast.AST], in_text: bool) -> Iterator[_Match]:
    fits = _contains if in_text else _same
    for node in ast.walk(scope):
        for field, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            for start in range(len(items) - len(found) + 1):
                if fits(items[start : start + len(found)], found):
                    yield _Match(node, field, start, len(found))


def _same(one: object, other: object) -> bool:
    """Whether two trees are the same program, wherever they stand in the source."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        # Whether a name is read or written is known from where it stands.
        return all(
            _same(getattr(one, field, None), getattr(other, field, None))
            for field in one._fields
            if field != "ctx"
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


def _contains(items: list[ast.AST], found: list[ast.AST]) -> bool:
    """Whether the text that is looked for occurs once in a string."""
    (item,), (text,) = items, found
    assert isinstance(text, ast.Constant)
    return (
        isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and item.value.count(text.value) == 1
    )
