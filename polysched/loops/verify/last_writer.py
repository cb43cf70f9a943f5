"""Last-writer run: check that every read in the loops sees the value of the declared writer.

The kernel is run as declared, with a source instead of a value in every array element. This gives
the source of each read of each instance. Then the loops run in the same way, with their buffers,
lanes and threads. The check uses no dependences and no proof, and finds errors that equal results
may hide. After Bao, Krishnamoorthy, Pouchet, Rastello, Sadayappan: "PolyCheck: dynamic
verification of iteration space transformations on affine programs", POPL 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.ir.core.kernel import Statement
from polysched.ir.expr.expressions import Constant, Load
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.ir.semantics.memory import AnyArray
from polysched.ir.semantics.scalar import compile_tuple
from polysched.loops.generate import generate_loops
from polysched.loops.interpret.execution import Around, IterationOrder, ascending, compile_loops
from polysched.loops.interpret.interpreter import lasting_arrays
from polysched.loops.ir.nodes import Assign, LoopProgram
from polysched.loops.verify.declared_flow import (
    DeclaredFlow,
    declared_flow,
    declared_source,
    free_reduction,
)
from polysched.loops.verify.races import Races, Threads
from polysched.loops.verify.source_memory import References, SourceMemory, Subscripts
from polysched.loops.verify.sources import (
    Accumulated,
    Instance,
    Literal,
    Written,
    bracketed,
    is_neutral,
)
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule


def last_writer_errors(
    program: Program | Schedule,
    parameters: Mapping[str, int],
    *,
    loops: LoopProgram | None = None,
    order: IterationOrder = ascending,
    declared: DeclaredFlow | None = None,
    arrays: Mapping[str, AnyArray] | None = None,
    limit: int = 16,
) -> tuple[Mismatch, ...]:
    """Run the loops of a schedule on sources instead of values; compare with the declared run.

    Every read of a declared statement must see the same source, also through buffers. A reduction
    whose order is free must have the same set of contributions, each once. No iteration of a
    parallel loop may touch an element that another iteration writes. Every instance must run once,
    and the caller's arrays must hold the same sources at the end.

    Args:
        loops: the loops of the program, also after the vector passes; generated if absent.
        order: the order of the iterations of parallel loops.
        declared: the result of :func:`declared_flow` for these parameters and arrays, if known.
        arrays: the contents of the arrays that subscripts read.
        limit: the largest number of mismatches to return.

    Raises:
        CallError: the parameters violate the context, or an array that subscripts read is missing.
        KernelError: an access outside its array or outside the lifetime of a buffer, or a statement
            that is neither declared nor understood.
        LoweringError: no loops can be generated.
    """
    scheduled = program.program if isinstance(program, Schedule) else program
    flow = declared or declared_flow(scheduled.kernel, parameters, arrays)
    run = loops or generate_loops(scheduled)
    memory = SourceMemory(flow.sources, flow.arrays)
    memory.open(lasting_arrays(run), parameters)
    meaning = _Tags(scheduled, run, flow, memory, limit)
    compile_loops(run.body, meaning, order)(dict(parameters))
    meaning.compare_counts()
    meaning.compare_results()
    return tuple(meaning.found[:limit])


@dataclass
class _Tags:
    """The meaning of loops that propagate sources."""

    program: Program
    loops: LoopProgram
    flow: DeclaredFlow
    memory: SourceMemory
    limit: int
    found: list[Mismatch] = field(default_factory=list)
    ran: set[tuple[str, Instance]] = field(default_factory=set)
    stood_for: set[tuple[str, Instance]] = field(default_factory=set)
    races: Races = field(default_factory=Races)

    def read(self, array: str, position: tuple[int, ...]) -> Any:
        return self.memory.index(array, position)

    def assignment(self, node: Assign, around: Around) -> _Passing:
        statement = self.program.statements.get(node.statement)
        declared = self.program.kernel.statements.get(node.statement)
        positions: tuple[int, ...] = ()
        if statement is not None and declared is not None:
            positions = tuple(statement.indices.index(index) for index in declared.indices)
        return _Passing(
            self,
            node,
            statement,
            declared,
            References.of(node.target, node.value, self.memory.index),
            compile_tuple(node.instance, self.memory.index),
            positions,
            self.races.threads(around),
        )

    def born(self, array: str, variables: Mapping[str, int]) -> None:
        self.races.forget(array)
        self.memory.open({array: self.loops.arrays[array]}, variables)

    def dies(self, array: str) -> None:
        del self.memory.tags.arrays[array]

    def report(self, mismatch: Mismatch) -> None:
        if len(self.found) < self.limit:
            self.found.append(mismatch)

    def compare_counts(self) -> None:
        """Report instances that have not run."""
        for name, instance in self.flow.reads:
            if (name, instance) not in self.stood_for:
                self.report(Mismatch(MismatchKind.COUNT, name, instance, "", "once", "never"))

    def compare_results(self) -> None:
        """Report elements of the caller's arrays that hold another source at the end."""
        difference = self.flow.sources.difference
        for name, expected in self.flow.results.items():
            got = self.memory.tags.arrays[name]
            for place in np.argwhere(got != expected).tolist():
                element = tuple(place)
                texts = difference(int(expected[element]), int(got[element]))
                self.report(Mismatch(MismatchKind.RESULT, name, element, "", *texts))


@dataclass(frozen=True)
class _Passing:
    """An assignment that propagates sources."""

    tags: _Tags
    node: Assign
    statement: Statement | None
    declared: Statement | None
    references: References
    instance: Subscripts
    positions: tuple[int, ...]
    threads: Threads

    def evaluate(
        self, variables: Mapping[str, int]
    ) -> tuple[tuple[int, ...], int | None, Instance]:
        """The element to write, its source (None if unknown), and the instance."""
        instance = self.instance(variables)
        try:
            target, seen = self.references.evaluate(self.tags.memory, variables)
        except KernelError as error:
            raise KernelError(f"{bracketed(self.node.statement, instance)}: {error}") from error
        if self.threads.loops:
            for array, place in self.references.reads:
                self._touch(array, place(variables), variables, instance, is_write=False)
        self._count(instance)
        if self.declared is None:
            return target, self._derived(instance, seen), instance
        own = tuple(instance[position] for position in self.positions)
        self._compare(own, variables, seen)
        self.tags.stood_for.add((self.node.statement, own))
        written = declared_source(
            self.tags.program.kernel, self.tags.flow.sources, self.declared, own, seen
        )
        if written is None:
            self._twice(own, bracketed(self.node.statement, own))
        return target, written, instance

    def write(
        self, variables: Mapping[str, int], evaluated: tuple[tuple[int, ...], int | None, Instance]
    ) -> None:
        target, source, instance = evaluated
        array = self.node.target.array
        if self.threads.loops:
            self._touch(array, target, variables, instance, is_write=True)
        try:
            if source is not None:
                self.tags.memory.tags.write(array, target, source)
        except KernelError as error:
            raise KernelError(f"{bracketed(self.node.statement, instance)}: {error}") from error

    def _count(self, instance: Instance) -> None:
        """Report an instance that runs a second time."""
        if self.statement is None:
            return
        ran = (self.node.statement, instance)
        if ran in self.tags.ran:
            self._report(MismatchKind.COUNT, instance, "", "once", "again")
        self.tags.ran.add(ran)

    def _compare(
        self, instance: Instance, variables: Mapping[str, int], seen: tuple[int, ...]
    ) -> None:
        flow, kernel_reduction = self.tags.flow, free_reduction(self.declared)
        expected = flow.reads.get((self.node.statement, instance))
        if expected is None:
            self._report(MismatchKind.COUNT, instance, "", "never", "once")
            return
        if expected == seen:
            return
        free = None if kernel_reduction is None else kernel_reduction.read - 1
        for position, (declared, here) in enumerate(zip(expected, seen, strict=True)):
            if declared != here and position != free:
                array, place = self.references.reads[position]
                element = bracketed(array, place(variables))
                texts = flow.sources.difference(declared, here)
                self._report(MismatchKind.READ, instance, element, *texts)

    def _derived(self, instance: Instance, seen: tuple[int, ...]) -> int | None:
        """The source written by a statement that the kernel does not declare."""
        sources = self.tags.flow.sources
        match self.node.value:
            case Load() as copied:
                return seen[len(loads(copied)) - 1]
            case Constant(value=value):
                return sources.number(Literal(value))
        reduction = free_reduction(self.statement)
        if reduction is None or len(seen) != 2:
            raise KernelError(
                f"statement '{self.node.statement}' is not declared and neither copies, combines "
                f"partial results nor sets a literal: {self.node.value}"
            )
        return self._combined(instance, seen[reduction.read - 1], seen[2 - reduction.read])

    def _combined(self, instance: Instance, own: int, partial: int) -> int | None:
        """The source of an element to which a partial result is added."""
        sources, statement = self.tags.flow.sources, self.statement
        assert statement is not None
        assert statement.reduction is not None
        operator = statement.reduction.operator
        dtype = self.tags.loops.arrays[self.node.target.array].dtype
        match sources.known[partial]:
            case Literal(value=value) if is_neutral(operator, value, dtype):
                return own
            case Accumulated(base=None, statement=name, contributions=contributions) if (
                self._operator_of(name) is operator
            ):
                made = sources.accumulated(own, name, contributions, operator, dtype)
                if made is None:
                    self._twice(instance, sources.text(partial))
                return made
        return sources.number(Written(statement.name, instance))

    def _operator_of(self, statement: str) -> Operator | None:
        reduction = self.tags.program.kernel.statements[statement].reduction
        return None if reduction is None else reduction.operator

    def _twice(self, instance: Instance, contribution: str) -> None:
        array = self.node.target.array
        self._report(
            MismatchKind.CONTRIBUTION, instance, array, f"{contribution} once", "a second time"
        )

    def _touch(
        self,
        array: str,
        element: tuple[int, ...],
        variables: Mapping[str, int],
        instance: Instance,
        *,
        is_write: bool,
    ) -> None:
        strand = self.threads.strand(variables)
        if self.tags.races.touch(array, element, strand, is_write=is_write):
            others = f"together with another iteration of loop '{self.threads.loops[0][2]}'"
            self._report(MismatchKind.RACE, instance, bracketed(array, element), "alone", others)

    def _report(
        self, kind: MismatchKind, instance: Instance, element: str, declared: str, found: str
    ) -> None:
        self.tags.report(Mismatch(kind, self.node.statement, instance, element, declared, found))


class MismatchKind(Enum):
    """The kind of a mismatch."""

    READ = "reads"
    CONTRIBUTION = "adds to"
    RACE = "touches"
    COUNT = "runs"
    RESULT = "ends as"


@dataclass(frozen=True)
class Mismatch:
    """One difference between the loops and the declared program.

    Attributes:
        statement: the statement that runs; for a final value, the array.
        instance: its instance; for a final value, the element.
        element: the accessed element, as text; empty for a wrong number of runs.
        declared: the behavior of the declared program, as text.
        found: the behavior of the loops, as text.
    """

    kind: MismatchKind
    statement: str
    instance: Instance
    element: str
    declared: str
    found: str

    def __str__(self) -> str:
        text = f"{bracketed(self.statement, self.instance)} {self.kind.value}"
        if self.element:
            text = f"{text} {self.element}"
        return f"{text}: declared {self.declared}, here {self.found}"
