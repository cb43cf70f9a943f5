"""Give a variable of its own to each parameter that a function changes and that a loop compares.

::

    float last(const float *x, int n)       int n_left = n;
    {                                       while (--n_left >= 0) f(x[n_left]);
        while (--n >= 0) f(x[n]);
    }

A parameter of the kernel keeps its value, and a loop counts a variable that something sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import (
    LOOPS,
    names_in,
    walk,
    with_stand_ins,
)


def with_own_parameters(
    items: Sequence[c_ast.Node], parameters: Mapping[str, c_ast.Node], names: Names
) -> tuple[c_ast.Node, ...]:
    """Copy the parameters that loops of a function compare and that it changes to variables.

    The statements before the first change of a parameter still use the parameter.

    Args:
        parameters: the types of the parameters that are numbers, by name.
    """
    nodes = [node for item in items for node in walk(item)]
    changed = _changed(items)
    kept = {node.name for node in nodes if isinstance(node, c_ast.Decl)}
    kept |= {
        node.expr.name
        for node in nodes
        if isinstance(node, c_ast.UnaryOp) and node.op == "&" and isinstance(node.expr, c_ast.ID)
    }
    conditions = [node.cond for node in nodes if isinstance(node, LOOPS) and node.cond is not None]
    counted = {name for cond in conditions for name in names_in(cond)} & changed - kept
    own = {name: names.fresh(f"{name}_left") for name in parameters if name in counted}
    result: list[c_ast.Node] = []
    copied: dict[str, str] = {}
    for item in items:
        first = [name for name in own if name in _changed([item]) - copied.keys()]
        result += [_copy(parameters[name], name, own[name], item) for name in first]
        copied |= {name: own[name] for name in first}
        result.append(with_stand_ins(item, copied))
    return tuple(result)


def _changed(items: Sequence[c_ast.Node]) -> set[str]:
    """Return the variables that statements change."""
    targets = [changed_by(node) for item in items for node in walk(item)]
    return {target.name for target in targets if isinstance(target, c_ast.ID)}


def _copy(type_: c_ast.Node, name: str, new: str, first: c_ast.Node) -> c_ast.Decl:
    declared = c_ast.TypeDecl(new, [], None, type_.type, first.coord)
    value = c_ast.ID(name, first.coord)
    return c_ast.Decl(new, [], [], [], [], declared, value, None, first.coord)
