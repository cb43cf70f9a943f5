"""Forward substitution: readers of a temporary compute its values themselves.

A read of ``t`` is replaced by the expression that the one instance of its value computes, if the
operands of that expression still have the same values when the reader runs::

    for i: t[i] = x[i + 1] - x[i]          for i: y[i] = (x[i + 1] - x[i])*(x[i + 1] - x[i])
    for i: y[i] = t[i]*t[i]           ->

The instance is known exactly, by value-based flow. A reader whose instances see values of several
statements is split first. See Muchnick, "Advanced Compiler Design and Implementation" (1997),
section 12.1, for scalars; Halide calls the result ``compute_inline``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import islpy as isl

from polysched.dependence.memory import executed_before, memory_dependences
from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.values import value_flows
from polysched.errors import ScheduleError
from polysched.ir.core.guards import guarded_names, lowered_size
from polysched.ir.core.kernel import Kernel, Role, Statement
from polysched.ir.core.tree import restrict, time_columns
from polysched.ir.expr.affine import from_pw_aff, named
from polysched.ir.expr.expressions import Cast, Constant, Expression, Index, Load, Operation
from polysched.ir.expr.linear import simplify
from polysched.ir.expr.literal_conditions import folded
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import (
    children,
    depth,
    index_names,
    loads,
    node_count,
    transform,
    walk,
)

LARGEST_VALUE = 1000
"""Nodes of a value, each use counted: definitions used twice by the next one grow exponentially."""
DEEPEST_VALUE = 60
"""Levels of a value: deep expressions are slow in every later stage."""
LARGEST_REPETITION = 4
"""Operations that forwarding may repeat for each element."""
LONG_OPERATION = 8
"""Weight of an operation that is neither an addition, a multiplication nor a comparison."""
_SHORT = frozenset(
    {Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.NEGATE, Operator.ABSOLUTE}
)


@dataclass(frozen=True, eq=False)
class ForwardedRead:
    """A read that can compute its value itself.

    Attributes:
        producer: the statement that writes the value.
        reader: the read.
        instances: the producer's instance of each instance of the reader that sees its value.
    """

    producer: Statement
    reader: Reference
    instances: isl.PwMultiAff

    @cached_property
    def domain(self) -> isl.Set:
        """The reader's instances."""
        return self.instances.domain()


@dataclass(frozen=True, eq=False)
class Flows:
    """A kernel with its dependences.

    Attributes:
        dependences: memory-based.
        values: value-based flow.
    """

    kernel: Kernel
    dependences: Sequence[Dependence]
    values: Sequence[Dependence]

    def forwarded(self) -> tuple[ForwardedRead, ...]:
        """The reads whose producers can be forwarded at a gain."""
        reads: list[ForwardedRead] = []
        for name, statement in self.kernel.statements.items():
            if self._gains(statement):
                # If one read stays, the array stays too: then the other reads stay as well.
                with suppress(ScheduleError):
                    reads += self.reads_of(name)
        return tuple(reads)

    def reads_of(self, name: str) -> tuple[ForwardedRead, ...]:
        """The reads of the values of a statement, each with the instance whose value it sees.

        Raises:
            ScheduleError: a read cannot compute the value itself, with the reason.
        """
        producer = self.kernel.statements[name]
        array = self.kernel.arrays[producer.target.array]
        # A store to an unknown element may change any value, so other flow proves nothing.
        if any(dependence.may for dependence in self.dependences if dependence.array == array.name):
            raise ScheduleError(f"subscripts of array '{array.name}' depend on data")
        if producer.reduction is not None:
            raise ScheduleError(f"statement '{name}' is a reduction")
        if array.dtype.is_odd_width or producer.value.dtype != array.dtype:
            raise ScheduleError(
                f"statement '{name}' stores another type than it computes: {array.dtype}"
            )
        return tuple(self._read(producer, flow) for flow in self._of(name))

    def _of(self, name: str) -> list[Dependence]:
        """The flows from the instances of a statement."""
        return [flow for flow in self.values if flow.source.statement == name]

    def _read(self, producer: Statement, flow: Dependence) -> ForwardedRead:
        reader = self.kernel.statements[flow.sink.statement]
        if _load(reader, flow.sink) is None:
            raise ScheduleError(f"a subscript of '{reader.name}' reads array '{flow.array}'")
        relation = flow.relation.reverse()
        if not relation.is_single_valued() or self._is_accumulated(flow):
            raise ScheduleError(
                f"statement '{reader.name}' does not read '{flow.array}' as one statement wrote it"
            )
        changing = self._changing(producer, reader, relation)
        if changing is not None:
            raise ScheduleError(
                f"statement '{changing.sink.statement}' changes '{changing.array}' between "
                f"statements '{producer.name}' and '{reader.name}'"
            )
        return ForwardedRead(producer, flow.sink, isl.PwMultiAff.from_map(relation.coalesce()))

    def _gains(self, producer: Statement) -> bool:
        """Whether forwarding the values of a statement repeats few operations."""
        array = self.kernel.arrays[producer.target.array]
        if array.role is not Role.TEMPORARY or _reads(producer, array.name):
            return False
        flows = self._of(producer.name)
        uses: dict[tuple[str, str], isl.Set] = {}
        for flow in flows:
            access = self.kernel.statements[flow.sink.statement].accesses[flow.sink.position]
            use = (flow.sink.statement, ", ".join(map(str, access.subscripts)))
            used = flow.relation.domain()
            uses[use] = uses[use].union(used) if use in uses else used
        return _cost(producer.value) * (_most_uses(uses) - 1) <= LARGEST_REPETITION and (
            _is_copy(producer) or all(flow.relation.is_single_valued() for flow in flows)
        )

    def _is_accumulated(self, flow: Dependence) -> bool:
        """Whether the read is that of an update whose instances see values of one another."""
        reduction = self.kernel.statements[flow.sink.statement].reduction
        if reduction is None or reduction.read != flow.sink.position:
            return False
        return any(other.sink == flow.sink and other is not flow for other in self.values)

    def _changing(
        self, producer: Statement, reader: Statement, sources: isl.Map
    ) -> Dependence | None:
        """A write that changes what the producer reads before the reader runs; None without one.

        Args:
            sources: from instances of the reader to those of the producer.
        """
        for anti in self.dependences:
            if anti.kind is not DependenceKind.ANTI or anti.source.statement != producer.name:
                continue
            changes = sources.apply_range(anti.relation)
            if changes.is_empty():
                continue
            writer = self.kernel.statements[anti.sink.statement]
            columns = {
                each.name: time_columns(self.kernel.body, each.name) for each in (writer, reader)
            }
            before = executed_before(writer, reader, columns).reverse()
            if not changes.intersect(before).is_empty():
                return anti
        return None


def _most_uses(uses: Mapping[tuple[str, str], isl.Set]) -> int:
    """Return a bound on the uses of one value: branches of a condition use different values."""
    layers: list[isl.Set] = []
    for used in uses.values():
        for number, layer in enumerate(layers):
            if layer.is_disjoint(used):
                layers[number] = layer.union(used)
                break
        else:
            layers.append(used)
    return len(layers)


def flows_of(kernel: Kernel, dependences: Iterable[Dependence] | None = None) -> Flows:
    """A kernel with its flows.

    Args:
        dependences: its memory-based dependences, if they are known.
    """
    records = tuple(memory_dependences(kernel) if dependences is None else dependences)
    return Flows(kernel, records, value_flows(records))


def with_inlined(flows: Flows, array: str) -> Kernel:
    """Return the kernel without a temporary: all its reads compute the values themselves.

    Definitions that read earlier ones are forwarded one after the other, from the first.
    """
    while True:
        kernel = flows.kernel
        readers = {
            name for name, statement in kernel.statements.items() if _reads(statement, array)
        }
        kept = {
            name: statement
            for name, statement in kernel.statements.items()
            if statement.target.array != array
        }
        if not readers & set(kept):
            body = restrict(kernel.body, frozenset(kept))
            if body is None:
                raise ScheduleError(f"no statement that writes another array reads '{array}'")
            arrays = {name: other for name, other in kernel.arrays.items() if name != array}
            return replace(
                kernel,
                arrays=MappingProxyType(arrays),
                statements=MappingProxyType(kept),
                body=body,
            )
        reads: dict[str, list[ForwardedRead]] = {}
        for name in kernel.statements:
            if name not in kept and name not in readers:
                for read in flows.reads_of(name):
                    if kernel.statements[read.reader.statement].domain <= read.domain:
                        reads.setdefault(read.reader.statement, []).append(read)
        if not reads:
            reader = min(readers & set(kept))
            raise ScheduleError(
                f"statement '{reader}' does not read '{array}' as one statement wrote it"
            )
        changed = {
            name: with_forwarded(kernel.statements[name], own, guarded_names(kernel.arrays))
            for name, own in reads.items()
        }
        flows = flows_of(with_statements(kernel, changed))


def with_statements(kernel: Kernel, changed: Mapping[str, Statement]) -> Kernel:
    """Return the kernel with statements replaced by others of the same names."""
    return replace(kernel, statements=MappingProxyType({**kernel.statements, **changed}))


def with_forwarded(
    statement: Statement, reads: Sequence[ForwardedRead], guarded: frozenset[str]
) -> Statement:
    """Return a statement that computes the values of some of its reads.

    Args:
        reads: each covers the statement's domain.
        guarded: the names of the guarded arrays.
    """
    replaced = {id(_load(statement, read.reader)): _at_instance(read, statement) for read in reads}
    value = transform(statement.value, lambda node: replaced.get(id(node)))
    value = _with_shared_parts(transform(value, folded))
    is_large = node_count(value) > LARGEST_VALUE or depth(value) > DEEPEST_VALUE
    if is_large or (guarded and lowered_size(value, guarded) > LARGEST_VALUE):
        raise ScheduleError(f"the value of '{statement.name}' would be too large")
    changed = replace(statement, value=value, reduction=None)
    reduction = statement.reduction
    if reduction is None or id(loads(statement.value)[reduction.read - 1]) in replaced:
        return changed
    # A forwarded value may read the sum itself; then the statement is not a plain update any more.
    own = [
        position
        for position, read in enumerate(changed.reads, start=1)
        if read.array == statement.target.array
    ]
    return replace(changed, reduction=replace(reduction, read=own[0])) if len(own) == 1 else changed


def _at_instance(read: ForwardedRead, reader: Statement) -> Expression:
    """The producer's value at the instance that a read sees, over the reader's indices."""
    indices: dict[str, Expression] = {}
    for position, index in enumerate(read.producer.indices):
        column = read.instances.get_pw_aff(position).gist(reader.domain).coalesce()
        if not column.isa_aff():
            raise ScheduleError(
                f"'{reader.name}' reads '{read.producer.target.array}' at subscripts that are not "
                f"affine in the loops of '{read.producer.name}'"
            )
        indices[index] = from_pw_aff(named(column, reader.indices))

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Load) and not any(map(loads, node.subscripts)):
            subscripts = tuple(simplify(subscript, {}) for subscript in node.subscripts)
            return replace(node, subscripts=subscripts)
        return indices[node.name] if isinstance(node, Index) else None

    return transform(read.producer.value, rule)


def _load(statement: Statement, reference: Reference) -> Load | None:
    """The load of a read in a statement's value, outside subscripts; None for other reads."""
    every = loads(statement.value)
    if not 0 < reference.position <= len(every):
        return None
    load = every[reference.position - 1]
    nested = {id(inner) for outer in every for part in outer.subscripts for inner in walk(part)}
    return None if id(load) in nested else load


def _reads(statement: Statement, array: str) -> bool:
    return any(read.array == array for read in statement.reads)


def _is_copy(statement: Statement) -> bool:
    """Whether a statement stores a literal, or an element of another array in the same order."""
    value = statement.value
    if isinstance(value, Constant):
        return True
    if not isinstance(value, Load):
        return False
    read, written = index_names(*value.subscripts), index_names(*statement.target.subscripts)
    return read == [name for name in written if name in read]


def _cost(value: Expression) -> int:
    """Weighted operations of a value, equal ones once, without those of subscripts."""
    inside = {id(node) for load in loads(value) for part in load.subscripts for node in walk(part)}
    operations = {
        str(node): node
        for node in walk(value)
        if isinstance(node, Operation) and id(node) not in inside
    }
    return sum(1 if node.operator in _SHORT else LONG_OPERATION for node in operations.values())


def _with_shared_parts(value: Expression) -> Expression:
    """Return an equal expression in which equal subtrees are the same object."""
    known: dict[Hashable, Expression] = {}

    def rule(node: Expression) -> Expression:
        return known.setdefault(_key(node), node)

    return transform(value, rule)


def _key(node: Expression) -> Hashable:
    """A key of a node whose operands are shared; 0.0 and -0.0 have different keys."""
    operands = tuple(map(id, children(node)))
    match node:
        case Constant(value=value, type=dtype):
            return type(value), repr(value), dtype
        case Operation(operator=operator, type=dtype):
            return operator, operands, dtype
        case Cast(type=dtype):
            return Cast, operands, dtype
        case Load(array=array) if type(node) is Load:
            return array, operands
        case Load():
            return id(node)
    return type(node), str(node)
