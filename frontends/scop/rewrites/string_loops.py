"""Give loops to the end of a string a bound: the length of the string, computed before them.

::

    while (*s) { f(*s); s++; }               const long s_length = strlen(s);
                                             for (k = 0; k < s_length; k++) { f(*s); s++; }

    while ((c = *s++)) f(c);                 for (k = 0; k < s_length; k++) { c = *s++; f(c); }
                                             c = 0; s++;

    for (i = 0; s[i]; i++) f(s[i]);          for (i = 0; i < s_length; i++) f(s[i]);

C reads the string up to its end in such a loop if nothing leaves the loop early. The length stays
the same if the loop stores to no other memory than the elements that it has reached, and to
variables of its function whose address nobody has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pycparser import c_ast

from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.size_values import EntryValue, c_text
from polysched.frontends.scop.rewrites.usage import FILLS, base_name, changed_by, may_change
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.quoting import c_expression, c_statement, counting_loop
from polysched.frontends.scop.source.trees import is_zero, loop_start, names_in, walk
from polysched.ir.expr.dtypes import DType, i64

_LEAVING = (c_ast.Break, c_ast.Continue, c_ast.Return, c_ast.Goto, c_ast.Label)


def with_string_lengths(
    region: Region, element_type: Callable[[c_ast.Node], DType | None], names: Names
) -> Region:
    """Bound the first loop of a part of a function if it runs to the end of a string."""
    first, *rest = region.items
    found = _to_the_end(first)
    if found is None or any(isinstance(node, _LEAVING) for node in walk(first.stmt)):
        return region
    dtype = element_type(c_ast.ID(found.string))
    is_text = dtype is not None and dtype.is_integer and dtype.bits == 8
    if not is_text or not _keeps_strings(region, found, is_single=not rest):
        return region
    name = names.fresh(f"{found.string}_length")
    length = c_ast.ID(f"__builtin_strlen((const char *){found.string})", first.coord)
    items = _counted(first, found, c_ast.ID(name, first.coord), names)
    derived = {**region.derived, name: EntryValue(length, i64)}
    return replace(region, items=(*items, *rest), derived=derived)


@dataclass(frozen=True)
class _ToTheEnd:
    """Loop that runs to the end of a string.

    Attributes:
        string: the pointer to its characters.
        reached: the element in C that the condition tests, if the body may store to it.
        before: statements in front of the body.
        after: statements after the loop.
        index: the variable that counts the characters; None for a new one.
    """

    string: str
    reached: str | None = None
    before: tuple[c_ast.Node, ...] = ()
    after: tuple[c_ast.Node, ...] = ()
    index: c_ast.ID | None = None


def _to_the_end(node: c_ast.Node) -> _ToTheEnd | None:
    """Match a loop to the end of a string; None for other loops."""
    cond = _nonzero(node.cond) if isinstance(node, c_ast.While | c_ast.For) else None
    match cond:
        case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=str(name))):
            step = _last(node.stmt) if isinstance(node, c_ast.While) else node.next
            moves = [part for part in walk(node) if may_change(part, name)]
            start = getattr(node, "init", None)
            begun = name
            match start:
                case c_ast.DeclList(decls=[c_ast.Decl(name=own, init=c_ast.ID(name=str(begun)))]):
                    start = None if own == name else start
            if start is None and moves == [step] and _is_increment(step, name):
                return _ToTheEnd(begun, c_text(cond) if begun == name else None)
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=str(target)) as own,
            rvalue=c_ast.UnaryOp(op="*", expr=c_ast.UnaryOp(op="p++", expr=c_ast.ID() as pointer)),
        ) if isinstance(node, c_ast.While) and target != pointer.name:
            if [may_change(part, pointer.name) for part in walk(node)].count(True) == 1:
                last = c_statement("own = 0;", node, own=own)
                move = c_statement("p++;", node, p=pointer)
                return _ToTheEnd(pointer.name, None, (cond,), (last, move))
        case c_ast.ArrayRef(name=c_ast.ID(name=str(name)), subscript=c_ast.ID() as index):
            start = loop_start(node) if isinstance(node, c_ast.For) else None
            changed = [part for part in walk(node) if may_change(part, name)]
            steps = [part for part in walk(node) if may_change(part, index.name)]
            is_set = isinstance(getattr(node, "init", None), c_ast.Assignment)
            is_first = start is not None and start[0] == index.name and is_zero(start[1])
            is_counted = is_first and _is_increment(node.next, index.name)
            if is_counted and not changed and len(steps) == 1 + is_set:
                return _ToTheEnd(name, c_text(cond), index=index)
    return None


def _counted(
    node: c_ast.Node, found: _ToTheEnd, length: c_ast.Node, names: Names
) -> tuple[c_ast.Node, ...]:
    """Return a loop as one that counts to a length, and the statements after it."""
    if found.index is not None:
        bound = c_expression("k < length", node, k=found.index, length=length)
        return (c_ast.For(node.init, bound, node.next, node.stmt, node.coord),)
    steps = [node.next] if isinstance(node, c_ast.For) else []
    before = node.init.decls if isinstance(node, c_ast.For) and node.init is not None else []
    body = c_ast.Compound([*found.before, node.stmt, *steps], node.coord)
    loop = counting_loop(names.fresh("k"), length, body, node)
    return *before, loop, *found.after


def _nonzero(cond: c_ast.Node | None) -> c_ast.Node | None:
    """Return ``e`` for the conditions ``e`` and ``e != 0``."""
    match cond:
        case c_ast.BinaryOp(op="!=", left=inner, right=c_ast.Constant(value="0" | "'\\0'")):
            return inner
        case c_ast.BinaryOp(op="!=", left=c_ast.Constant(value="0" | "'\\0'"), right=inner):
            return inner
    return cond


def _last(body: c_ast.Node) -> c_ast.Node:
    """Return the last statement of a body."""
    return body.block_items[-1] if isinstance(body, c_ast.Compound) and body.block_items else body


def _is_increment(node: c_ast.Node | None, name: str) -> bool:
    return isinstance(node, c_ast.UnaryOp) and "++" in node.op and names_in(node) == [name]


def _keeps_strings(region: Region, found: _ToTheEnd, *, is_single: bool) -> bool:
    """Whether no store of a region may change the rest of a string."""
    parameters = region.parameters
    around = (*parameters, *(node for node in region.before if isinstance(node, c_ast.Decl)))
    own = {node.name: node.type for node in around}
    nodes = [node for item in region.items for node in walk(item)]
    own |= {node.name: node.type for node in nodes if isinstance(node, c_ast.Decl)}
    addressed = {
        base_name(node.expr)
        for node in walk(region.function.body)
        if isinstance(node, c_ast.UnaryOp) and node.op == "&"
    }
    is_parameter = any(node.name == found.string for node in parameters)
    locals_ = set(own) - {node.name for node in parameters}
    for node in nodes:
        if isinstance(node, c_ast.FuncCall):
            if base_name(node.name) in FILLS:
                return False
            continue
        target = changed_by(node)
        if target is None:
            continue
        name = base_name(target)
        if name not in own or name in addressed:
            return False
        if isinstance(target, c_ast.ID):
            continue
        # A parameter does not lead to arrays that its function declares.
        is_apart = is_parameter and name in locals_ and isinstance(own[name], c_ast.ArrayDecl)
        is_reached = is_single and c_text(target) == found.reached
        if not is_apart and not is_reached:
            return False
    return True
