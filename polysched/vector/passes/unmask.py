"""Pass: write registers without masks if their inactive lanes are dead.

A vector loop that does not fill its registers leaves the inactive lanes as they are, which takes a
masked move for each accumulator in the innermost loop. If every access to a register runs the same
literal lanes, the other lanes are dead and need no mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.vector.ir import (
    Assign,
    Branch,
    Call,
    Keep,
    Node,
    Statement,
    Transpose,
    VectorProgram,
    walk,
)
from polysched.vector.rewrite import map_statements, statement_values, walk_value
from polysched.vector.values import All, Only, Register

_Active = All | Only | None


def unmask_registers(program: VectorProgram) -> VectorProgram:
    """Drop the masks of registers whose accesses all run the same literal lanes."""
    nodes = list(walk(program.body))
    found: dict[str, set[_Active]] = {name: set() for node in nodes for name in _masked(node)}
    if not found:
        return program
    for node in nodes:
        for name, active in _accesses(node):
            if name in found:
                found[name].add(active)
    dead = {name for name, kinds in found.items() if len(kinds) == 1}

    def rewritten(node: Statement) -> Statement:
        if not (isinstance(node, Assign | Call) and isinstance(node.target, Keep)):
            return node
        if node.target.register.array not in dead:
            return node
        return replace(node, target=replace(node.target, masked=False))

    return replace(program, body=map_statements(program.body, rewritten))


def _masked(node: Node) -> Iterator[str]:
    """The register array that a statement writes in some literal lanes."""
    if not (isinstance(node, Assign | Call) and isinstance(node.target, Keep)):
        return
    if node.lanes is not None and isinstance(node.lanes.active, Only):
        yield node.target.register.array


def _accesses(node: Node) -> Iterator[tuple[str, _Active]]:
    """The register arrays that a node accesses, each with the lanes; None if not literal."""
    if isinstance(node, Transpose):
        yield node.rows, All()
        yield node.columns, All()
    if isinstance(node, Branch):
        for value in walk_value(node.condition):
            if isinstance(value, Register):
                yield value.array, None
    if not isinstance(node, Assign | Call):
        return
    active = None if node.lanes is None else node.lanes.active
    literal = active if isinstance(active, All | Only) else None
    if isinstance(node.target, Keep):
        yield node.target.register.array, literal
    for outermost in statement_values(node):
        for value in walk_value(outermost):
            if isinstance(value, Register):
                yield value.array, literal
