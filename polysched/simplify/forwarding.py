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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import islpy as isl

from polysched.dependence.memory import executed_before
from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.ir.core.kernel import Kernel, Role, Statement
from polysched.ir.core.tree import time_columns
from polysched.ir.expr.affine import from_pw_aff, named
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Operation
from polysched.ir.expr.linear import simplify
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads, node_count, transform, walk
from polysched.simplify.sharing import with_shared_parts

LARGEST_EXPRESSION = 1000
"""Nodes of an expression up to which values are forwarded into it."""
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
        found: list[ForwardedRead] = []
        for name, statement in self.kernel.statements.items():
            if self._may_be_forwarded(statement):
                own = [one for one in self.values if one.source.statement == name]
                found += self._of_producer(statement, own)
        return tuple(found)

    def _may_be_forwarded(self, producer: Statement) -> bool:
        array = self.kernel.arrays[producer.target.array]
        return (
            array.role is Role.TEMPORARY
            and producer.reduction is None
            and not producer.target.is_data_dependent
            and not array.dtype.is_odd_width
            and producer.value.dtype == array.dtype
            and not any(read.array == array.name for read in producer.reads)
            and node_count(producer.value) <= LARGEST_EXPRESSION
        )

    def _of_producer(
        self, producer: Statement, flows: Sequence[Dependence]
    ) -> Iterable[ForwardedRead]:
        """The forwarded reads of one producer; empty if its array has to stay or nothing gains."""
        statements = self.kernel.statements
        reads = []
        uses: set[tuple[str, str]] = set()
        for flow in flows:
            reader = statements[flow.sink.statement]
            access = reader.accesses[flow.sink.position]
            if flow.may or flow.reorderable or not self._is_read_in_value(reader, flow.sink):
                return ()
            relation = flow.relation.reverse()
            if not relation.is_single_valued():
                return ()
            if not _is_copy(producer) and not flow.relation.is_single_valued():
                return ()
            if not self._keeps_operands(producer, reader, relation):
                return ()
            instances = isl.PwMultiAff.from_map(relation.coalesce())
            reads.append(ForwardedRead(producer, flow.sink, instances))
            uses.add((reader.name, ", ".join(map(str, access.subscripts))))
        if _cost(producer.value) * (len(uses) - 1) > LARGEST_REPETITION:
            return ()
        return reads

    def _is_read_in_value(self, reader: Statement, reference: Reference) -> bool:
        """Whether a read stands in the value, outside subscripts and the target of an update."""
        if reader.reduction is not None and reader.reduction.read == reference.position:
            return False
        return _load(reader, reference) is not None

    def _keeps_operands(self, producer: Statement, reader: Statement, sources: isl.Map) -> bool:
        """Whether what the producer reads has the same values when the reader runs.

        Args:
            sources: from instances of the reader to those of the producer.
        """
        for one in self.dependences:
            if one.kind is not DependenceKind.ANTI or one.source.statement != producer.name:
                continue
            changes = sources.apply_range(one.relation)
            if changes.is_empty():
                continue
            writer = self.kernel.statements[one.sink.statement]
            columns = {
                each.name: time_columns(self.kernel.body, each.name) for each in (writer, reader)
            }
            before = executed_before(writer, reader, columns).reverse()
            if not changes.intersect(before).is_empty():
                return False
        return True


def with_forwarded(
    kernel: Kernel, reads: Mapping[str, Sequence[ForwardedRead]], largest: int
) -> Kernel:
    """Return the kernel with reads replaced by the expressions of their producers.

    Args:
        reads: by the statement that reads; each covers the statement's domain.
        largest: the number of nodes up to which an expression may grow.
    """
    statements = dict(kernel.statements)
    for name, own in reads.items():
        changed = _substituted(kernel.statements[name], own)
        if changed is not None and node_count(changed.value) <= largest:
            statements[name] = changed
    if all(one is kernel.statements[name] for name, one in statements.items()):
        return kernel
    return replace(kernel, statements=MappingProxyType(statements))


def _substituted(statement: Statement, reads: Sequence[ForwardedRead]) -> Statement | None:
    """A statement with some of its reads replaced; None if an instance is no affine function."""
    value, reduction = statement.value, statement.reduction
    updated = None if reduction is None else loads(value)[reduction.read - 1]
    replaced: dict[int, Expression] = {}
    for one in reads:
        load = _load(statement, one.reader)
        expression = _at_instance(one, statement)
        if expression is None or load is None:
            return None
        replaced[id(load)] = expression
    value = transform(value, lambda node: replaced.get(id(node)))
    if reduction is None:
        return replace(statement, value=with_shared_parts(value))
    position = [load is updated for load in loads(value)].index(True)
    return replace(statement, value=value, reduction=replace(reduction, read=position + 1))


def _at_instance(read: ForwardedRead, reader: Statement) -> Expression | None:
    """The producer's value at the instance that a read sees, over the reader's indices."""
    indices: dict[str, Expression] = {}
    for position, index in enumerate(read.producer.indices):
        column = read.instances.get_pw_aff(position).gist(reader.domain).coalesce()
        if not column.isa_aff():
            return None
        indices[index] = from_pw_aff(named(column, reader.indices))

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Load) and not any(map(loads, node.subscripts)):
            return replace(node, subscripts=tuple(simplify(one, {}) for one in node.subscripts))
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


def _is_copy(statement: Statement) -> bool:
    """Whether a statement stores a literal, or an element of another array in the same order."""
    value = statement.value
    if isinstance(value, Constant):
        return True
    if not isinstance(value, Load):
        return False
    return _order(value.subscripts) == [
        name for name in _order(statement.target.subscripts) if name in _order(value.subscripts)
    ]


def _order(subscripts: Iterable[Expression]) -> list[str]:
    return [node.name for part in subscripts for node in walk(part) if isinstance(node, Index)]


def _cost(value: Expression) -> int:
    """Weighted operations of a value, equal ones once, without those of subscripts."""
    inside = {id(node) for load in loads(value) for part in load.subscripts for node in walk(part)}
    operations = {
        str(node): node
        for node in walk(value)
        if isinstance(node, Operation) and id(node) not in inside
    }
    return sum(1 if node.operator in _SHORT else LONG_OPERATION for node in operations.values())
