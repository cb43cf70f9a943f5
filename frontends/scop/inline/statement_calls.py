"""Inline calls of the file's own functions that take pointers, contain loops or return nothing.

::

    static void scale(float *row, int n) { for (int i = 0; i < n; i++) row[i] *= 2; }

    scale(&x[r * w], w);     {   float *row = &x[r * w];
                                 int n = w;
                                 for (int i = 0; i < n; i++) row[i] *= 2;   }

Parameters and local variables of the function get names that the caller does not use. Calls inside
conditions that may not be evaluated stay, and are refused where they are translated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pycparser import c_ast

from polysched.frontends.scop.rewrites.counting import with_countdowns
from polysched.frontends.scop.rewrites.exits import without_exits
from polysched.frontends.scop.rewrites.normalizing import normalized
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.source_map import SourceMap
from polysched.frontends.scop.source.trees import StandIn, mapped, walk

MOST_CALLS = 200
"""Largest number of calls that are inlined in a region."""

_Items = tuple[c_ast.Node, ...]


@dataclass
class Expansion:
    """Inlining of calls in one region.

    Attributes:
        visible: the local names of the caller, which hide variables of the file.
    """

    functions: Mapping[str, c_ast.FuncDef]
    names: Names
    visible: frozenset[str]
    source_map: SourceMap
    count: int = 0

    def items(self, items: Sequence[c_ast.Node], inside: tuple[str, ...] = ()) -> _Items:
        """Inline the calls in the statements of a block.

        Args:
            inside: the functions that are being inlined.

        Raises:
            FrontendError: a function calls itself, or there are too many calls.
        """
        result: list[c_ast.Node] = []
        for item in items:
            result += self._statement(item, inside)
        return tuple(result)

    def _statement(self, node: c_ast.Node, inside: tuple[str, ...]) -> list[c_ast.Node]:
        match node:
            case c_ast.Compound(block_items=items):
                return [c_ast.Compound(list(self.items(items or (), inside)), node.coord)]
            case c_ast.FuncCall() if self._called(node) is not None:
                before, _ = self._inlined(node, inside)
                return [c_ast.Compound(before, node.coord)]
            case c_ast.Cast(expr=c_ast.FuncCall() as call) if self._called(call) is not None:
                return self._statement(call, inside)
            case c_ast.Assignment() | c_ast.Decl() | c_ast.Return():
                before, changed = self._value(node, inside)
                return [*before, changed]
            case c_ast.If(cond=cond):
                before, cond = self._value(cond, inside)
                sides = [self._block(side, inside) for side in (node.iftrue, node.iffalse)]
                return [*before, c_ast.If(cond, *sides, node.coord)]
            case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch() | c_ast.Case():
                return [mapped(node, lambda child: self._child(child, inside))]
            case c_ast.Default() | c_ast.Label():
                return [mapped(node, lambda child: self._child(child, inside))]
        return [node]

    def _child(self, node: c_ast.Node, inside: tuple[str, ...]) -> c_ast.Node:
        """Inline the calls in a child of a statement, if it is a statement."""
        if isinstance(node, c_ast.DeclList | c_ast.ExprList):
            return node
        statements = self._statement(node, inside)
        return statements[0] if len(statements) == 1 else c_ast.Compound(statements, node.coord)

    def _block(self, node: c_ast.Node | None, inside: tuple[str, ...]) -> c_ast.Node | None:
        return None if node is None else self._child(node, inside)

    def _value(
        self, node: c_ast.Node, inside: tuple[str, ...]
    ) -> tuple[list[c_ast.Node], c_ast.Node]:
        """Replace the calls that an expression always evaluates; return the statements before."""
        before: list[c_ast.Node] = []

        def replaced(inner: c_ast.Node) -> c_ast.Node:
            match inner:
                case c_ast.UnaryOp(op="sizeof") | c_ast.InitList():
                    return inner
                case c_ast.TernaryOp(cond=cond):
                    return c_ast.TernaryOp(replaced(cond), inner.iftrue, inner.iffalse, inner.coord)
                case c_ast.BinaryOp(op="&&" | "||" as operator, left=left, right=right):
                    return c_ast.BinaryOp(operator, replaced(left), right, inner.coord)
            changed = mapped(inner, replaced)
            if isinstance(changed, c_ast.FuncCall) and self._called(changed) is not None:
                statements, value = self._inlined(changed, inside)
                if value is not None:
                    before.extend(statements)
                    return value
            return changed

        changed = replaced(node)
        return before, changed

    def _called(self, node: c_ast.FuncCall) -> c_ast.FuncDef | None:
        """Return the function that a call may be replaced by; None for any other."""
        function = self.functions.get(node.name.name) if isinstance(node.name, c_ast.ID) else None
        if function is None:
            return None
        arguments = [] if node.args is None else node.args.exprs
        parameters = _parameters(function)
        return function if parameters is not None and len(parameters) == len(arguments) else None

    def _inlined(
        self, call: c_ast.FuncCall, inside: tuple[str, ...]
    ) -> tuple[list[c_ast.Node], c_ast.Node | None]:
        """Return the statements of a call, and the variable of its value; None for none."""
        function = self._called(call)
        assert function is not None
        name = function.decl.name
        self.count += 1
        if name in inside:
            raise self.source_map.error(call, f"'{name}' calls itself; expected a loop")
        if self.count > MOST_CALLS:
            raise self.source_map.error(
                call, f"more than {MOST_CALLS} calls of the file's functions; expected fewer"
            )
        numbers = {
            parameter.name: parameter.type
            for parameter in _parameters(function) or []
            if isinstance(parameter.type, c_ast.TypeDecl)
        }
        body = normalized(with_countdowns(tuple(function.body.block_items or ()), numbers))
        declared_names = {
            node.name for statement in body for node in walk(statement) if _is_named(node)
        }
        new = {
            local: self.names.fresh(local) for local in sorted(_locals(function) | declared_names)
        }
        parameters = _parameters(function) or []
        arguments = [] if call.args is None else call.args.exprs
        declared = [
            _initialized(_renamed(parameter, new), argument, call)
            for parameter, argument in zip(parameters, arguments, strict=True)
        ]
        result = function.decl.type.type
        is_void = _is_void(result)
        renamed = tuple(_renamed(item, new) for item in body)
        items, value = without_exits(renamed, None if is_void else result, self.names)
        if value is None and not is_void and items and isinstance(items[-1], c_ast.Return):
            value = self.names.fresh("returned")
            type_ = c_ast.TypeDecl(value, [], None, result.type, call.coord)
            declaration = c_ast.Decl(value, [], [], [], [], type_, None, None, call.coord)
            last = c_ast.Assignment("=", c_ast.ID(value), items[-1].expr, items[-1].coord)
            items = (declaration, *items[:-1], last)
        elif is_void and items and isinstance(items[-1], c_ast.Return):
            items = items[:-1]
        expanded = self.items(items, (*inside, name))
        return [*declared, *expanded], None if value is None else StandIn(value, call)


def inlinable(
    tree: c_ast.FileAST, others: Collection[str], visible: frozenset[str]
) -> Mapping[str, c_ast.FuncDef]:
    """Find the functions whose calls may be replaced by their statements.

    Args:
        others: functions that are inlined as expressions.
        visible: the local names of the caller.
    """
    functions = {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}
    return {
        name: node
        for name, node in functions.items()
        if name not in others and _parameters(node) is not None and not _is_tied(node, visible)
    }


def _is_tied(node: c_ast.FuncDef, visible: frozenset[str]) -> bool:
    """Whether a function cannot be moved: static variables, gotos, or names that callers hide."""
    for inner in walk(node.body):
        if isinstance(inner, c_ast.Goto | c_ast.Label | c_ast.Typedef | c_ast.Pragma):
            return True
        if isinstance(inner, c_ast.Decl) and (
            inner.storage or isinstance(inner.type, c_ast.Struct)
        ):
            return True
    free = {inner.name for inner in _names(node.body)} - _locals(node)
    return bool(free & visible)


def _is_named(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Decl) and bool(node.name)


def _parameters(function: c_ast.FuncDef) -> list[c_ast.Decl] | None:
    arguments = function.decl.type.args
    parameters = [] if arguments is None else list(arguments.params)
    if len(parameters) == 1 and isinstance(parameters[0], c_ast.Typename):
        return []  # (void)
    if not all(isinstance(node, c_ast.Decl) and node.name for node in parameters):
        return None
    return parameters


def _is_void(type_: c_ast.Node) -> bool:
    return isinstance(type_, c_ast.TypeDecl) and getattr(type_.type, "names", None) == ["void"]


def _locals(function: c_ast.FuncDef) -> set[str]:
    nodes = [*(_parameters(function) or []), *walk(function.body)]
    return {node.name for node in nodes if isinstance(node, c_ast.Decl) and node.name}


def _names(node: c_ast.Node) -> Iterator[c_ast.ID]:
    """Yield the variables that a node uses, without names of members and called functions."""
    if isinstance(node, c_ast.ID):
        yield node
    for slot, child in node.children():
        is_member = isinstance(node, c_ast.StructRef) and slot == "field"
        is_call = isinstance(node, c_ast.FuncCall) and slot == "name"
        if not (is_member or is_call or isinstance(node, c_ast.NamedInitializer)):
            yield from _names(child)


def _renamed(node: c_ast.Node, new: Mapping[str, str]) -> c_ast.Node:
    """Rename variables and their declarations."""
    match node:
        case c_ast.ID(name=name):
            return c_ast.ID(new.get(name, name), node.coord)
        case c_ast.StructRef(name=inner, type=kind, field=member):
            return c_ast.StructRef(_renamed(inner, new), kind, member, node.coord)
        case c_ast.FuncCall(name=called, args=arguments):
            changed = None if arguments is None else _renamed(arguments, new)
            return c_ast.FuncCall(called, changed, node.coord)
        case c_ast.NamedInitializer(name=names, expr=value):
            return c_ast.NamedInitializer(names, _renamed(value, new), node.coord)
    result = mapped(node, lambda child: _renamed(child, new))
    if isinstance(result, c_ast.Decl) and result.name in new:
        return c_ast.Decl(
            new[result.name], result.quals, result.align, result.storage, result.funcspec,
            result.type, result.init, result.bitsize, result.coord,
        )  # fmt: skip
    if isinstance(result, c_ast.TypeDecl) and result.declname in new:
        name = new[result.declname]
        return c_ast.TypeDecl(name, result.quals, result.align, result.type, result.coord)
    return result


def _initialized(parameter: c_ast.Node, argument: c_ast.Node, call: c_ast.Node) -> c_ast.Decl:
    """Declare a parameter as a variable; an array parameter is a pointer."""
    type_ = parameter.type
    if isinstance(type_, c_ast.ArrayDecl):
        type_ = c_ast.PtrDecl([], type_.type, call.coord)
    return c_ast.Decl(parameter.name, [], [], [], [], type_, argument, None, parameter.coord)
