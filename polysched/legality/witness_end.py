"""One instance of a witness, in numbers that owe nothing to isl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from polysched.errors import KernelError
from polysched.ir.kernel import Access, Statement
from polysched.ir.points import box_size, evaluate_many, points
from polysched.ir.tree import Loop, executed
from polysched.legality.arithmetic import Step, lives, moment, touches, variables_of
from polysched.legality.verdict import Occurrence, Timestamp
from polysched.schedule.program import Program

MOST_INSTANCES = 4096
"""Instances of one statement, at the sizes of a witness, among which writers are looked for."""


@dataclass(frozen=True, eq=False)
class End:
    """One end of a witness as it is shown, beside the program that it must agree with."""

    program: Program
    sizes: Mapping[str, int]
    shown: Occurrence

    @cached_property
    def statement(self) -> Statement | None:
        """The statement as it is now; as it was declared where the schedule has lost it."""
        name = self.shown.statement
        return self.program.statements.get(name) or self.program.kernel.statements.get(name)

    @cached_property
    def variables(self) -> dict[str, int]:
        """The values of the parameters and indices."""
        assert self.statement is not None
        return variables_of(self.statement, self.shown.instance, self.sizes)

    @cached_property
    def now(self) -> tuple[Step, ...]:
        """When the schedule runs it."""
        assert self.statement is not None
        return moment(executed(self.program.tree), self.statement, self.variables)

    @cached_property
    def declared(self) -> Statement | None:
        """The declared statement of which it is an instance; None of copies that a step made."""
        if self.shown.statement in self.program.recomputed:
            return None
        return self.program.kernel.statements.get(self.shown.statement)

    @cached_property
    def before(self) -> tuple[Step, ...] | None:
        """When the declared program runs it, if it does."""
        if self.declared is None:
            return None
        variables = variables_of(self.declared, self.shown.instance, self.sizes)
        return moment(self.program.kernel.body, self.declared, variables)

    @property
    def is_update(self) -> bool:
        """Whether it reads the element that it writes."""
        assert self.statement is not None
        target, *reads = self.statement.accesses
        return any(access.subscripts == target.subscripts for access in reads)

    def doubts(self, *, runs: bool) -> Iterator[str]:
        """What does not hold of the instance by itself.

        Args:
            runs: whether the schedule runs it.
        """
        name = self.shown.name
        if self.statement is None or len(self.shown.instance) != len(self.statement.indices):
            yield f"{name} is not an instance of a statement"
            return
        alive = self.statement if runs else self.declared or self.statement
        if not lives(alive, self.variables):
            yield f"{name} is not in the domain of {self.shown.statement}"
            return
        if runs and not _shows(self.shown.new, self.now):
            yield f"{name} does not run at the time that is shown for the schedule"
        if self.before is not None and not _shows(self.shown.old, self.before):
            yield f"{name} does not run at the time that is shown for the program"
        if self.shown.array is not None and next(self._accesses(), None) is None:
            yield f"{name} does not touch {self.shown.touched}"

    def _accesses(self) -> Iterator[Access]:
        """The accesses that do what is shown."""
        assert self.statement is not None
        element = (*self.shown.tile, *self.shown.element)
        for position, access in enumerate(self.statement.accesses):
            action = "reads" if position else "writes"
            if (action, access.array) == (self.shown.action, self.shown.array) and touches(
                access, element, self.variables
            ):
                yield access

    def writers(self) -> list[End] | None:
        """All instances that surely write the element; None if there are too many to look at."""
        found: list[End] = []
        for statement in self.program.statements.values():
            target = statement.target
            if target.array != self.shown.array or target.is_data_dependent:
                continue
            try:
                if box_size(statement.domain, self.sizes) > MOST_INSTANCES:
                    return None
            except KernelError:
                return None
            rows = points(statement.domain, self.sizes)
            variables = {**self.sizes, **dict(zip(statement.indices, rows.T, strict=True))}
            hit = np.ones(len(rows), np.bool_)
            for subscript, wanted in zip(
                target.subscripts, (*self.shown.tile, *self.shown.element), strict=True
            ):
                hit &= evaluate_many(subscript, variables) == wanted
            found += [
                replace(
                    self,
                    shown=replace(
                        self.shown, statement=statement.name, instance=tuple(row), action="writes"
                    ),
                )
                for row in rows[hit].tolist()
            ]
        return found


def _shows(shown: Timestamp | None, steps: tuple[Step, ...]) -> bool:
    """Whether a timestamp shows the values of the loops."""
    values = [(one.node.name, one.value) for one in steps if isinstance(one.node, Loop)]
    return shown is not None and [*shown] == values
