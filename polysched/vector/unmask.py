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
    DotProduct,
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
    found: dict[str, set[_Active]] = {}
    for node in walk(program.body):
        for name, active in _accesses(node):
            found.setdefault(name, set()).add(active)
    dead = {name for name, kinds in found.items() if len(kinds) == 1 and None not in kinds}

    def rewritten(node: Statement) -> Statement:
        if not (isinstance(node, Assign | DotProduct) and isinstance(node.target, Keep)):
            return node
        if node.target.register.array not in dead:
            return node
        return replace(node, target=replace(node.target, masked=False))

    return replace(program, body=map_statements(program.body, rewritten)) if dead else program


def _accesses(node: Node) -> Iterator[tuple[str, _Active]]:
    """The register arrays that a node accesses, each with the lanes; None if not literal."""
    if isinstance(node, Transpose):
        yield node.rows, All()
        yield node.columns, All()
    if isinstance(node, Branch):
        for value in walk_value(node.condition):
            if isinstance(value, Register):
                yield value.array, None
    if not isinstance(node, Assign | DotProduct):
        return
    active = None if node.lanes is None else node.lanes.active
    literal = active if isinstance(active, All | Only) else None
    if isinstance(node.target, Keep):
        yield node.target.register.array, literal
    for outermost in statement_values(node):
        for value in walk_value(outermost):
            if isinstance(value, Register):
                yield value.array, literal
