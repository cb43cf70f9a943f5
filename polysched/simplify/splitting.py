"""Split statements by their instances, so that each part has one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import islpy as isl

from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.core.tree import Leaf, Loop, Node, map_children, sequence
from polysched.ir.expr.affine import named


def split_statements(kernel: Kernel, parts: Mapping[str, Sequence[isl.Set]]) -> Kernel:
    """Return the kernel with statements replaced by one statement for each part of their domain.

    The parts get a nest each, one after the other. The first part keeps the statement's name.

    Args:
        parts: disjoint sets that cover the domains of statements that are alone in a nest and whose
            instances in one run of it do not depend on one another.
    """
    taken = {*kernel.statements, *kernel.arrays}
    names: dict[str, tuple[str, ...]] = {}
    statements: dict[str, Statement] = {}
    for name, statement in kernel.statements.items():
        names[name] = (name,)
        statements[name] = statement
        for number, part in enumerate(parts.get(name, ())):
            own = name if not number else _fresh(name, taken)
            if number:
                names[name] = (*names[name], own)
            domain = part.set_tuple_name(own)
            statements[own] = replace(
                statement, name=own, domain=_with_names(domain, statement.indices)
            )
    body = _split(kernel.body, names, statements)
    return replace(kernel, statements=MappingProxyType(statements), body=body)


def _with_names(domain: isl.Set, indices: Sequence[str]) -> isl.Set:
    for position, index in enumerate(indices):
        domain = domain.set_dim_name(isl.dim_type.set, position, index)
    return domain


def _fresh(name: str, taken: set[str]) -> str:
    number = 1
    while f"{name}_part{number}" in taken:
        number += 1
    taken.add(f"{name}_part{number}")
    return f"{name}_part{number}"


def _split(
    node: Node, names: Mapping[str, tuple[str, ...]], statements: Mapping[str, Statement]
) -> Node:
    if len(node.statements) == 1:
        return sequence([_named(node, statements[own]) for own in names[node.statements[0]]])
    if isinstance(node, Loop):
        changed = {
            own: _of(value, statements[own])
            for name, value in node.values.items()
            for own in names[name]
        }
        node = replace(node, values=changed)
    return map_children(node, lambda child: _split(child, names, statements))


def _named(node: Node, part: Statement) -> Node:
    """A nest of one statement as the nest of one of its parts."""
    match node:
        case Loop(values=values, body=body):
            (value,) = values.values()
            return replace(node, values={part.name: _of(value, part)}, body=_named(body, part))
        case _:
            return Leaf(part.name)


def _of(value: isl.PwAff, statement: Statement) -> isl.PwAff:
    """A function of the instances of a statement as a function of those of one of its parts."""
    value = value.set_tuple_id(isl.dim_type.in_, statement.domain.get_tuple_id())
    return named(value, statement.indices)
