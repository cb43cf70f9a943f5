"""The loops of a contraction by role: lanes, register tile, batch, reduction."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import AccessFacts, StatementFacts
from polysched.autoscheduler.forms.candidate import Situation
from polysched.ir.core.kernel import Access, Statement
from polysched.ir.core.tree import LoopKind, path
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.linear import linear_form
from polysched.schedule.core.program import Program


@dataclass(frozen=True)
class Operand:
    """An array that a contraction reads, other than its target.

    Attributes:
        dimensions: the names of the array's stored dimensions.
        loops: for each of these dimensions, the loops that its subscript depends on.
        forms: in how many different ways the statements access the array.
    """

    access: AccessFacts
    dimensions: tuple[str, ...]
    loops: tuple[frozenset[str], ...]
    forms: int

    @property
    def array(self) -> str:
        """The name of the array."""
        return self.access.array

    def depends_on(self, loop: str) -> bool:
        """Whether iterations of a loop access different elements."""
        return self.access.stride(loop) != 0

    def is_contiguous(self, loop: str) -> bool:
        """Whether iterations of a loop access adjacent elements, in rising order."""
        return self.access.stride(loop) == self.access.bytes

    def dimension_of(self, loop: str) -> str | None:
        """The dimension that only a loop moves along; None if there is not exactly one."""
        moved = [at for at, names in enumerate(self.loops) if loop in names]
        return self.dimensions[moved[0]] if len(moved) == 1 else None


@dataclass(frozen=True)
class Contraction:
    """A perfect nest of updates ``C[f(free)] op= term(operands)``, its loops by role.

    Attributes:
        statements: the updates; all have the same target and the same loops.
        facts: the facts of the first of them.
        operations: arithmetic instructions of all of them.
        free: the loops that the target depends on, outermost first.
        reductions: the loops that the target does not depend on, outermost first.
        operands: the reads of other elements than the target.
    """

    statements: tuple[str, ...]
    facts: StatementFacts
    operations: int
    free: tuple[str, ...]
    reductions: tuple[str, ...]
    operands: tuple[Operand, ...]

    @property
    def target(self) -> AccessFacts:
        """The access of the result."""
        return self.facts.target

    @property
    def terms(self) -> float:
        """The average number of terms of a sum."""
        return self.extent(self.reductions)

    def trip(self, loop: str) -> int:
        """The average trip count of a loop."""
        return max(1, round(self.facts.loop(loop).trip))

    def extent(self, loops: tuple[str, ...]) -> float:
        """The product of the trip counts of loops."""
        total = 1.0
        for loop in loops:
            total *= self.trip(loop)
        return total

    def lane_loops(self) -> tuple[str, ...]:
        """The loops along which adjacent iterations update adjacent elements."""
        return tuple(loop for loop in self.free if self.target.stride(loop) == self.target.bytes)

    def reused_along(self, loop: str) -> bool:
        """Whether some operand is the same for all iterations of a loop."""
        return any(not operand.depends_on(loop) for operand in self.operands)


def contraction_of(situation: Situation) -> Contraction | None:
    """Return a nest as a contraction; None if it is another kind of nest, or is scheduled."""
    nest, program = situation.nest, situation.schedule.program
    fresh = all(loop.is_plain for loop in nest.chain)
    if not (fresh and nest.has_leaves) or any(loop.kind is LoopKind.VECTOR for loop in nest.around):
        return None
    facts = [statement_facts(program, name, situation.sizes) for name in nest.statements]
    first, chain = facts[0], [loop.name for loop in nest.chain]
    if not all(_updates_same(statement, first) for statement in facts):
        return None
    if any(first.target.stride(loop) is None for loop in chain):
        return None
    free = tuple(loop for loop in chain if first.target.stride(loop) != 0)
    reductions = tuple(loop for loop in chain if first.target.stride(loop) == 0)
    operands = tuple(_operands(program, nest.statements, facts))
    if not free or not reductions or not operands:
        return None
    if any(operand.access.stride(loop) is None for operand in operands for loop in chain):
        return None
    operations = sum(max(1, statement.operations.arithmetic) for statement in facts)
    return Contraction(nest.statements, first, operations, free, reductions, operands)


def _updates_same(first: StatementFacts, second: StatementFacts) -> bool:
    same = first.target.runs_with(second.target) and first.target.offset == second.target.offset
    return same and first.reads_target and not first.operations.slow and not first.operations.calls


def _operands(
    program: Program, statements: tuple[str, ...], facts: list[StatementFacts]
) -> list[Operand]:
    """Return the reads of other elements than the target, each once."""
    operands: list[tuple[AccessFacts, tuple[frozenset[str], ...]]] = []
    for name, statement_facts_ in zip(statements, facts, strict=True):
        statement = program.statements[name]
        indices = _loops_of_indices(program, statement)
        for access, numbers in zip(
            statement.accesses[1:], statement_facts_.accesses[1:], strict=True
        ):
            if access == statement.target or any(numbers == seen for seen, _ in operands):
                continue
            tile = program.arrays[access.array].tile
            operands.append((numbers, tuple(_loops_of(access, indices))[tile:]))
    forms = [access.array for access, _ in operands]
    return [
        Operand(
            access,
            program.arrays[access.array].dimensions[program.arrays[access.array].tile :],
            loops,
            forms.count(access.array),
        )
        for access, loops in operands
    ]


def _loops_of_indices(program: Program, statement: Statement) -> dict[str, frozenset[str]]:
    """Return, for each index of a statement, the loops whose values depend on it."""
    values = {loop.name: loop.values[statement.name] for loop in path(program.tree, statement.name)}
    return {
        index: frozenset(
            name
            for name, value in values.items()
            if value.involves_dims(isl.dim_type.in_, position, 1)
        )
        for position, index in enumerate(statement.indices)
    }


def _loops_of(access: Access, indices: dict[str, frozenset[str]]) -> list[frozenset[str]]:
    return [
        frozenset().union(
            *(
                indices[atom.name]
                for atom, _ in linear_form(subscript, {}).terms
                if isinstance(atom, Index)
            )
        )
        for subscript in access.subscripts
    ]
