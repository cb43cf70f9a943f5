"""inline: put the values of a temporary array where they are read (forward substitution)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference, timestamps
from polysched.dependence.values import value_flows
from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Array, Role, Statement
from polysched.ir.core.tree import restrict
from polysched.ir.expr.expressions import Expression, Load, typed
from polysched.ir.expr.traversal import depth, loads, node_count, transform
from polysched.schedule.core.program import Program, initial_program

LARGEST_VALUE = 400
"""Nodes of a value, each use counted: definitions used twice by the next one grow exponentially."""
DEEPEST_VALUE = 60
"""Levels of a value: deep expressions are slow in every later stage."""


@dataclass(frozen=True)
class Inline:
    """Step record of :func:`inline`, which documents the fields."""

    array: str


def inline(program: Program, step: Inline) -> Program:
    """Inline a temporary array: compute its values where they are read, without the array.

    The statements that write the array disappear. Later steps, and the checker, work on the other
    statements as if they had been declared so. Values that are read several times are computed
    several times.

    Args:
        array (str): a temporary array of the kernel.

    before::

        for i in 0..n:
          t[0] = f(i)
          y[i] = t[0] + x[i]

    after ``inline("t")``::

        for i in 0..n:
          y[i] = f(i) + x[i]

    Checks:
        - Only ``inline`` steps come before, else ``StepError``.
        - The array is a temporary, its subscripts are affine, no subscript reads it, and a
          statement that writes another array reads it, else ``StepError``.
        - Each read sees the value of one statement, written in the iteration with the same loop
          indices, else ``StepError``.
        - What the value is computed from does not change before the read, else ``StepError``.
        - The new values have at most 400 nodes and 60 levels, else ``StepError``.
    """
    kernel = program.kernel
    if program.tree is not kernel.body or program.statements is not kernel.statements:
        raise ScheduleError("inline changes the declared kernel; expected no other step before it")
    array = program.arrays.get(step.array)
    if array is None or array.role is not Role.TEMPORARY:
        raise ScheduleError(f"'{step.array}' is not a temporary array of the kernel")
    readers = _Readers(program, array)
    kept = {
        name: readers.inlined(statement)
        for name, statement in program.statements.items()
        if statement.target.array != array.name
    }
    body = restrict(kernel.body, set(kept))
    if body is None or all(kept[name] is program.statements[name] for name in kept):
        raise ScheduleError(f"no statement that writes another array reads '{array.name}'")
    arrays = {name: one for name, one in program.arrays.items() if name != array.name}
    return initial_program(replace(kernel, arrays=arrays, statements=kept, body=body))


@dataclass(frozen=True)
class _Readers:
    """Statements that read an array, with the sources of each read."""

    program: Program
    array: Array
    flows: dict[Reference, list[Dependence]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = [one for one in self.program.dependences if one.array == self.array.name]
        if any(one.may for one in own):
            raise ScheduleError(f"subscripts of array '{self.array.name}' depend on data")
        for flow in value_flows(own):
            self.flows.setdefault(flow.sink, []).append(flow)

    def inlined(self, statement: Statement) -> Statement:
        """Return a statement that computes what it has read from the array."""
        if not any(read.array == self.array.name for read in statement.reads):
            return statement
        value = self._value(statement, statement)
        if depth(value) > DEEPEST_VALUE or node_count(value) > LARGEST_VALUE:
            raise ScheduleError(f"the value of '{statement.name}' would be too large")
        changed = replace(statement, value=value, reduction=None)
        updated = [
            position
            for position, read in enumerate(changed.reads, start=1)
            if read.array == statement.target.array
        ]
        # A definition may read the sum itself; then the statement is not a plain update any more.
        if statement.reduction is None or len(updated) > 1:
            return changed
        return replace(changed, reduction=replace(statement.reduction, read=updated[0]))

    def _value(self, statement: Statement, reader: Statement) -> Expression:
        """Return the value of a statement in an iteration of the statement that reads it last."""
        reads = _loads(statement)
        definitions: dict[int, Expression] = {}
        for position, load in enumerate(reads, start=1):
            reference = Reference(statement.name, position)
            inside = [one.array for subscript in load.subscripts for one in loads(subscript)]
            if self.array.name in inside:
                raise ScheduleError(f"a subscript reads array '{self.array.name}'")
            if load.array != self.array.name:
                if statement is not reader:
                    self._require_unchanged(reference, reader)
                continue
            if position > len(loads(statement.value)):
                raise ScheduleError(f"a subscript reads array '{self.array.name}'")
            source = self._source(reference)
            if id(source) not in definitions:
                definitions[id(source)] = self._value(source, reader)
            definitions[id(load)] = definitions[id(source)]

        def rule(node: Expression) -> Expression | None:
            return definitions.get(id(node)) if isinstance(node, Load) else None

        return typed(
            transform(statement.value, rule), self.program.arrays[statement.target.array].dtype
        )

    def _source(self, read: Reference) -> Statement:
        """Return the statement whose value a read sees, in the iteration of equal loop indices."""
        flows = self.flows.get(read, [])
        sink = self.program.statements[read.statement]
        if len(flows) == 1:
            source = self.program.statements[flows[0].source.statement]
            relation = flows[0].relation
            if (
                source is not sink
                and set(source.indices) <= set(sink.indices)
                and sink.domain.is_subset(relation.range())
                and relation.is_subset(_same_iteration(source, sink))
            ):
                return source
        raise ScheduleError(
            f"statement '{read.statement}' does not read '{self.array.name}' as one statement "
            "wrote it in the same iteration"
        )

    def _require_unchanged(self, read: Reference, reader: Statement) -> None:
        """Check that no element changes between a read and the later one that takes its place."""
        before = self.program.statements[read.statement]
        moved = _same_iteration(before, reader).reverse().intersect_domain(reader.domain)
        for anti in self._overwriting(read):
            writer = self.program.statements[anti.sink.statement]
            pairs = moved.apply_range(anti.relation)
            times = timestamps(self.program.tree, {reader.name: reader, writer.name: writer})
            if not pairs.intersect(times[reader.name].lex_gt_map(times[writer.name])).is_empty():
                raise ScheduleError(
                    f"statement '{writer.name}' changes '{anti.array}' between statements "
                    f"'{before.name}' and '{reader.name}'"
                )

    def _overwriting(self, read: Reference) -> Iterator[Dependence]:
        for one in self.program.dependences:
            if one.kind is DependenceKind.ANTI and one.source == read:
                yield one


def _loads(statement: Statement) -> list[Load]:
    """Return the reads of a statement as nodes, in the order of its references."""
    return [
        load for value in (statement.value, *statement.target.subscripts) for load in loads(value)
    ]


def _same_iteration(first: Statement, second: Statement) -> isl.Map:
    """Relate the instances of two statements whose indices of equal names have equal values.

    Args:
        second: has an index of each name that the first has.
    """
    space = first.domain.get_space().map_from_domain_and_range(second.domain.get_space())
    same = isl.Map.universe(space)
    for position, index in enumerate(first.indices):
        same = same.equate(
            isl.dim_type.in_, position, isl.dim_type.out, second.indices.index(index)
        )
    return same
