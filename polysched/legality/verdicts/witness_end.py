"""One instance of a witness, evaluated in plain arithmetic without isl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from polysched.errors import KernelError
from polysched.ir.core.kernel import Access, Statement
from polysched.ir.core.tree import Loop, executed
from polysched.ir.semantics.points import box_size, evaluate_many, points
from polysched.legality.verdicts.arithmetic import (
    Step,
    lives,
    moment,
    number,
    touches,
    variables_of,
)
from polysched.legality.verdicts.verdict import Occurrence, Timestamp
from polysched.schedule.core.program import Program

MOST_INSTANCES = 4096
"""Most instances of a statement, at the sizes of a witness, to search for writers."""


@dataclass(frozen=True, eq=False)
class End:
    """One end of a witness: the occurrence to check, and the program to check it against."""

    program: Program
    sizes: Mapping[str, int]
    shown: Occurrence

    @cached_property
    def statement(self) -> Statement | None:
        """The scheduled statement; the declared statement if the schedule has lost it."""
        name = self.shown.statement
        return self.program.statements.get(name) or self.program.kernel.statements.get(name)

    @cached_property
    def variables(self) -> dict[str, int]:
        """The values of the parameters and indices."""
        assert self.statement is not None
        return variables_of(self.statement, self.shown.instance, self.sizes)

    @cached_property
    def now(self) -> tuple[Step, ...]:
        """The timestamp of the instance in the schedule."""
        assert self.statement is not None
        return moment(executed(self.program.tree), self.statement, self.variables)

    @cached_property
    def declared(self) -> Statement | None:
        """The declared statement of the instance; None for copies that a step created."""
        if self.shown.statement in self.program.recomputed:
            return None
        return self.program.kernel.statements.get(self.shown.statement)

    @cached_property
    def before(self) -> tuple[Step, ...] | None:
        """The timestamp of the instance in the declared program; None if it is not declared."""
        if self.declared is None:
            return None
        variables = variables_of(self.declared, self.shown.instance, self.sizes)
        return moment(self.program.kernel.body, self.declared, variables)

    @property
    def is_update(self) -> bool:
        """Whether the statement reads the element that it writes."""
        assert self.statement is not None
        target, *reads = self.statement.accesses
        return any(access.subscripts == target.subscripts for access in reads)

    def doubts(self, *, runs: bool) -> Iterator[str]:
        """Yield the claims about this single instance that do not hold.

        Args:
            runs: whether the schedule runs the instance.
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
        """Yield the accesses with the action, the array and the element of the occurrence."""
        assert self.statement is not None
        element = (*self.shown.tile, *self.shown.element)
        for position, access in enumerate(self.statement.accesses):
            action = "reads" if position else "writes"
            if (action, access.array) == (self.shown.action, self.shown.array) and touches(
                access, element, self.variables
            ):
                yield access

    def copies_out(self) -> list[End]:
        """Return the writers of the element that read what this instance writes: its copies out.

        Empty if there are too many instances to search.
        """
        assert self.statement is not None
        target = self.statement.target
        copied = tuple(number(subscript, self.variables) for subscript in target.subscripts)
        return [
            writer
            for writer in self.writers() or ()
            if writer.statement is not None
            and any(
                access.array == target.array and touches(access, copied, writer.variables)
                for access in writer.statement.reads
            )
        ]

    @cached_property
    def unfolded(self) -> Occurrence | None:
        """The occurrence in the declared program, where arrays are not folded.

        None if a step created the statement or redirected the access.
        """
        if self.declared is None or self.statement is None:
            return None
        pairs = zip(self.statement.accesses, self.declared.accesses, strict=False)
        shown = next(self._accesses(), None)
        for access, declared in pairs:
            if access is shown and access.array == declared.array:
                at = tuple(number(subscript, self.variables) for subscript in declared.subscripts)
                return replace(self.shown, element=at, tile=())
        return None

    def unfolded_writers(self) -> list[End] | None:
        """Return the writers of the element before folding; None if they are not all known."""
        if self.unfolded is None or self.shown.array is None:
            return None
        kernel = self.program.kernel
        scheduled = self.program.statements
        writing = {
            name
            for statements in (kernel.statements, scheduled)
            for name, statement in statements.items()
            if statement.target.array == self.shown.array
        }
        if any(name not in kernel.statements or name not in scheduled for name in writing):
            return None
        before = replace(self.program, statements=kernel.statements)
        found = replace(self, program=before, shown=self.unfolded).writers()
        if found is None:
            return None
        return [replace(writer, program=self.program) for writer in found]

    def writers(self) -> list[End] | None:
        """Return all must-writes of the element; None if there are too many instances to search."""
        writers: list[End] = []
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
            writers += [
                replace(
                    self,
                    shown=replace(
                        self.shown, statement=statement.name, instance=tuple(row), action="writes"
                    ),
                )
                for row in rows[hit].tolist()
            ]
        return writers


def _shows(shown: Timestamp | None, steps: tuple[Step, ...]) -> bool:
    """Whether a timestamp has the values of the loops in ``steps``."""
    values = [(step.node.name, step.value) for step in steps if isinstance(step.node, Loop)]
    return shown is not None and [*shown] == values
