"""Pass: count the lanes of a statement upward if all of its vectors run backward in memory.

::

    for v in 0..8: u[n - v] = u[n - v] - u[n - v - 1]      u[n - 7..n + 1] = u[n - 7..n + 1] - ...

A loop that counts down has lanes in the reverse order of memory. If no value depends on the number
of a lane, lane ``v`` can stand for lane ``count - 1 - v``. Then no vector is reversed, and the
passes for contiguous vectors apply.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.expr.expressions import Constant, Index, Parameter
from polysched.vector.ir import Assign, Statement, Store, VectorProgram
from polysched.vector.rewrite import map_statements, map_value, walk_value
from polysched.vector.values import Access, All, Apply, Convert, Load, Sum, Uniform, Value

_SAME_FOR_ALL = (Apply, Constant, Convert, Index, Parameter, Sum)
"""Values whose lanes follow from the same lanes of their operands."""


def count_lanes_upward(program: VectorProgram) -> VectorProgram:
    """Make reversed vectors contiguous where a statement has no others."""
    return replace(program, body=map_statements(program.body, _rewritten))


def _rewritten(node: Statement) -> Statement:
    if not isinstance(node, Assign) or node.lanes is None:
        return node
    if not isinstance(node.lanes.active, All) or not isinstance(node.target, Store):
        return node
    stored = node.target.access
    if stored.movement is not Uniform.REVERSED or not _is_reversible(node.value):
        return node
    value = map_value(node.value, _forward)
    return replace(node, target=Store(_contiguous(stored)), value=value)


def _is_reversible(value: Value) -> bool:
    """Whether lanes in the other order have the same values in the other order."""
    return all(
        part.access.movement in (Uniform.REVERSED, Uniform.BROADCAST)
        if isinstance(part, Load)
        else isinstance(part, _SAME_FOR_ALL)
        for part in walk_value(value)
    )


def _forward(value: Value) -> Value:
    if isinstance(value, Load) and value.access.movement is Uniform.REVERSED:
        return replace(value, access=_contiguous(value.access))
    return value


def _contiguous(access: Access) -> Access:
    return replace(access, movement=Uniform.CONTIGUOUS)
