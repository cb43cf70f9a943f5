"""Row blocks: a loop around several nests is cut into blocks, and distributed inside each block.

Distributing the whole loop would send every temporary through memory. Inside a block of rows the
temporaries stay in the first-level cache, and each nest gets a few rows for its register tile::

    for j: for k: s[k] = 0; for r: s[k] += A[j][r] * C[r][k]
           for k: A[j][k] = s[k]
    ->
    for jo: for ji, k: s[ji][k] = 0
            for ji, k, r: s[ji][k] += A[jo, ji][r] * C[r][k]
            for ji, k: A[jo, ji][k] = s[ji][k]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied
from polysched.autoscheduler.forms.nests import Nest, fresh_names, inner_nests, outer_nests
from polysched.autoscheduler.forms.normalize import normalized
from polysched.ir.core.tree import Loop, Sequence, path
from polysched.machine.description import Machine
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

ROWS = 8
"""Rows of a block: the rows of the largest register tile. L1 has as many ways."""


def row_blocked(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int]
) -> Iterator[tuple[Schedule, Decision]]:
    """Yield the schedule with its imperfect nests distributed inside blocks of rows."""
    del machine
    steps: list[Step] = []
    blocks: list[str] = []
    statements: list[str] = []
    for nest in tuple(_imperfect(schedule)):
        cut = _cut(schedule, nest, sizes)
        if cut is None:
            continue
        changed = applied(schedule, cut[0])
        if changed is None:
            continue
        first = nest.statements[0]
        tried, decisions = normalized(changed, sizes, kept=frozenset((*blocks, cut[1])))
        if not _is_distributed(tried, first, cut[1], nest.statements):
            continue
        schedule, blocks = tried, [*blocks, cut[1]]
        steps += [*cut[0], *(step for decision in decisions for step in decision.steps)]
        statements += nest.statements
    if blocks:
        reason = (
            f"nests run one after the other inside blocks of {ROWS} rows: what one leaves for the "
            "next stays in a cache"
        )
        yield schedule, Decision(tuple(steps), tuple(statements), reason)


def _imperfect(schedule: Schedule) -> Iterator[Nest]:
    """Yield the nests whose body is a sequence with loops in it, outer nests first."""
    open_nests = list(outer_nests(schedule.program.tree))
    while open_nests:
        nest = open_nests.pop(0)
        if isinstance(nest.body, Sequence) and any(isinstance(c, Loop) for c in nest.body.children):
            yield nest
        open_nests += inner_nests(nest)


def _cut(
    schedule: Schedule, nest: Nest, sizes: Mapping[str, int]
) -> tuple[tuple[Step, ...], str] | None:
    """Return the steps that cut the innermost loop of a nest into blocks, and the blocks' name."""
    if not nest.is_plain:
        return None
    loop = nest.chain[-1]
    facts = [
        statement_facts(schedule.program, name, sizes).loop(loop.name) for name in nest.statements
    ]
    if min(statement.trip for statement in facts) < 2 * ROWS:
        return None
    start = min(statement.start or 0 for statement in facts)
    reference = nest.reference(loop.name)
    outer, inner = fresh_names(schedule.program, schedule.program.tree, "block", "row")
    shift: tuple[Step, ...] = (Shift(reference, -start),) if start else ()
    return (*shift, Split(reference, ROWS, (outer, inner))), outer


def _is_distributed(
    schedule: Schedule, first: str, block: str, statements: tuple[str, ...]
) -> bool:
    """Whether a loop of blocks still holds all statements, in several nests."""
    loop = next(outer for outer in path(schedule.program.tree, first) if outer.name == block)
    return loop.statements == statements and isinstance(loop.body, Sequence)
