"""Instructions that add a group of consecutive terms to each lane of a vector of sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.instructions.byte_differences import NAME as SUM_OF_DIFFERENCES
from polysched.instructions.declaration import Instruction
from polysched.instructions.lookup import is_available, known_forms
from polysched.instructions.matching import Mismatch, match_statement
from polysched.ir.core.kernel import Order
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program

INSTRUCTIONS = (SUM_OF_DIFFERENCES, "vpdpbusd", "vpdpwssd", "vpmaddwd")
"""Instructions whose groups are looked for in sums."""
WIDEST_OPERAND = 16
"""Bits of the widest operand of such an instruction."""


@dataclass(frozen=True)
class TermGroup:
    """A loop of which one instruction adds consecutive iterations to each lane of a vector.

    Attributes:
        loop: the loop over the terms.
    """

    loop: str
    form: Instruction

    def fits_lanes(self, facts: StatementFacts, vector: str) -> bool:
        """Whether lanes along a loop read neighboring groups, or all the same."""
        target = facts.target
        return target.stride(vector) == target.bytes and all(
            access.stride(vector) in (0, access.bytes * self.form.terms)
            for access in facts.accesses[1:]
            if access.array != target.array
        )


def term_groups(program: Program, facts: StatementFacts, machine: Machine) -> Iterator[TermGroup]:
    """Yield the groups of terms of a sum that an instruction adds, in the longest vectors."""
    statement, target = program.statements[facts.name], facts.target
    reduction = statement.reduction
    terms = [access for access in facts.accesses[1:] if access.array != target.array]
    if reduction is None or reduction.order is not Order.ANY or not terms:
        return
    if any(8 * access.bytes > WIDEST_OPERAND or access.is_guarded for access in terms):
        return
    for name in INSTRUCTIONS:
        for form in known_forms(name):
            if not is_available(form, machine.enabled_features) or isinstance(
                match_statement(form, statement.target, statement.value, program.arrays), Mismatch
            ):
                continue
            for loop in facts.loops:
                is_row = all(access.stride(loop.name) == access.bytes for access in terms)
                if is_row and target.stride(loop.name) == 0 and loop.stride == 1:
                    yield TermGroup(loop.name, form)
            break
