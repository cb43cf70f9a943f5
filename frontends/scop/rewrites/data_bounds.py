"""Rewrite loops whose bounds are data as loops over all iterations that may run.

::

    for (int k = ptr[i]; k < ptr[i + 1]; k++)      int k_start = ptr[i], k_end = ptr[i + 1];
      s += v[k];                              ->   for (long k_at = -FAR; k_at < FAR; k_at++)
                                                     if (k_start <= k_at && k_at < k_end) {
                                                       int k = k_at;
                                                       s += v[k];
                                                     }

Code generation trims the loop again (:mod:`polysched.loops.trim_no_ops`), to exactly the values
that C gives its variable. The variable is data, so subscripts with it touch only what C touches.
"""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast

from polysched.frontends.scop.rewrites.counting import replaced_name
from polysched.frontends.scop.rewrites.usage import usage_of
from polysched.frontends.scop.source.trees import cast_to, names_in, walk
from polysched.ir.expr.linear import FAR

_LONG = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["long"]))


def bounds_of(node: c_ast.For) -> tuple[c_ast.Node, c_ast.Node] | None:
    """The first value and the end of a loop that counts up to an end which it does not change."""
    match node:
        case c_ast.For(
            init=c_ast.DeclList(decls=[c_ast.Decl(name=name, init=c_ast.Node() as first)])
            | c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=first),
            cond=c_ast.BinaryOp(op="<" | "<=", left=c_ast.ID(name=left), right=last),
            next=c_ast.UnaryOp(op="p++" | "++", expr=c_ast.ID(name=stepped)),
        ) if left == stepped == name:
            pass
        case _:
            return None
    changed = usage_of((node.stmt,)).assigned
    calls = any(isinstance(one, c_ast.FuncCall) for end in (first, last) for one in walk(end))
    return None if calls or changed & {name, *names_in(last)} else (first, last)


def with_data_bounds(
    node: c_ast.For, type_: c_ast.TypeDecl, fresh: Callable[[str], str]
) -> tuple[c_ast.Compound, tuple[str, ...]]:
    """The statements that a loop stands for, and the names of their variables.

    Args:
        node: a loop that has `bounds_of`.
        type_: the type of the loop's variable.
        fresh: returns a new name that begins with a name.
    """
    first, last = bounds_of(node) or (None, None)
    name, relation = node.cond.left.name, node.cond.op
    at, start, end = (fresh(f"{name}_{part}") for part in ("at", "start", "end"))

    def variable(one: str, own: c_ast.TypeDecl, value: c_ast.Node) -> c_ast.Decl:
        return c_ast.Decl(one, [], [], [], [], replaced_name(own, one), value, None, node.coord)

    def named(one: str) -> c_ast.ID:
        return c_ast.ID(one, node.coord)

    far = c_ast.Constant("long", str(FAR), node.coord)
    below = c_ast.BinaryOp(relation, named(at), named(end), node.coord)
    above = c_ast.BinaryOp("<=", cast_to(_LONG, named(start)), named(at), node.coord)
    body = c_ast.Compound([variable(name, type_, named(at)), node.stmt], node.coord)
    inside = c_ast.If(c_ast.BinaryOp("&&", above, below, node.coord), body, None, node.coord)
    loop = c_ast.For(
        c_ast.DeclList([variable(at, _LONG, c_ast.UnaryOp("-", far, node.coord))], node.coord),
        c_ast.BinaryOp("<", named(at), far, node.coord),
        c_ast.UnaryOp("p++", named(at), node.coord),
        inside,
        node.coord,
    )
    ends = [variable(start, type_, first), variable(end, _LONG, last)]
    return c_ast.Compound([*ends, loop], node.coord), (name, at, start, end)
