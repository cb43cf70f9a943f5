"""fold_storage: store a dimension of a temporary array modulo a size (storage folding).

Legality is judged by values. The array holds a value from the write that makes it until its last
read. An instance that updates its own element (it reads the element that it overwrites) carries a
value on. So a value begins at a *root*: a write that does not read its own element.

Two elements that share a slot are kept apart by dependences. Take a root ``p`` on element ``e``, a
read ``r`` of its value, and a write ``w`` to another element in the slot of ``e``. Either ``w``
stays before ``p`` (an output dependence), or ``r`` stays before ``w`` (an anti dependence). The
order in which the program runs ``w`` and ``p`` at this step selects the dependence. If ``w`` runs
between ``p`` and ``r``, the dependence is broken now, and a later step that moves ``w`` behind
``r`` repairs the schedule.

These dependences are sufficient, not necessary: the values may also be apart in the opposite order.
Where the dependences are broken, the legality check decides by the elements that the references
access before folding, which the program keeps (:attr:`Program.folded`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.values import root_flows
from polysched.errors import ScheduleError, suggestion
from polysched.ir.core.kernel import Access, Array, Role, Statement, access_relation
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, executed, statements
from polysched.ir.expr.affine import instance_space, to_pw_aff
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.linear import simplify
from polysched.ir.expr.traversal import transform
from polysched.schedule.buffers.elements import meant_elements
from polysched.schedule.buffers.lifetime import references_to
from polysched.schedule.core.program import Program, require_positive


@dataclass(frozen=True)
class FoldStorage:
    """Step record of :func:`fold_storage`, which documents the fields."""

    array: str
    dimension: str
    size: int
    into: str | None = None


def fold_storage(program: Program, step: FoldStorage) -> Program:
    """Fold a dimension of a temporary array: store element ``e`` in slot ``e mod size``.

    Steps that move a consumer near its producer (``fuse``, ``shift``, ``compute_at``) may come
    before or after this step. A literal extent smaller than ``size`` stays as it is.

    Args:
        array (str): a temporary array of the kernel, or a buffer that an earlier step has made.
        dimension (str): the name of one of its dimensions (``d0``, ``d1``, ... if none were
            declared).
        size (int): the number of slots.
        into (str | None): name of the folded array; by default ``<array>_folded``.

    before::

        for i in 0..n:
          t[i] = f(i)
          if i >= 2: y[i] = t[i - 2] + t[i]

    after ``fold_storage("t", "d0", 3)``::

        for i in 0..n:
          t_folded[i mod 3] = f(i)
          if i >= 2: y[i] = t_folded[(i - 2) mod 3] + t_folded[i mod 3]

    Checks:
        - The array is a temporary, all its subscripts are affine, and it has the dimension, else
          ``StepError``.
        - ``size`` is positive, and the name ``into`` is free, else ``StepError``.
        - Legality: every value is read before another element overwrites its slot, else
          ``IllegalScheduleError``.
    """
    into = step.into or f"{step.array}_folded"
    array, position = _checked(program, step, into)
    extent = simplify(array.shape[position], {})
    size = step.size
    if isinstance(extent, Constant):
        size = max(1, min(size, int(extent.value)))
    shape = (*array.shape[:position], Constant(size), *array.shape[position + 1 :])
    conflicts = _sharing(program, array, position, size)
    elements = meant_elements(program, array) or {}
    dependences = (*program.dependences, *_kept_apart(program, array, conflicts))
    arrays = {name: kept for name, kept in program.arrays.items() if name != array.name}
    return replace(
        program,
        arrays={**arrays, into: replace(array, name=into, shape=shape)},
        statements={
            name: _folded(statement, array.name, into, position, size)
            for name, statement in program.statements.items()
        },
        dependences=tuple(
            replace(d, array=into) if d.array == array.name else d for d in dependences
        ),
        folded={**program.folded, into: elements},
    )


def _checked(program: Program, step: FoldStorage, into: str) -> tuple[Array, int]:
    require_positive(f"the size of fold_storage('{step.array}')", step.size)
    array = program.array(step.array)
    if array.role is not Role.TEMPORARY:
        raise ScheduleError(
            f"array '{array.name}' is an {array.role.value} and keeps its shape; fold_storage "
            "takes a temporary array, or a buffer that pack, promote or compute_at has made"
        )
    if any(
        access.array == array.name and access.is_data_dependent
        for statement in program.statements.values()
        for access in statement.accesses
    ):
        raise ScheduleError(
            f"a subscript of array '{array.name}' depends on data, so the last read of an element "
            "is unknown; fold_storage takes an array whose subscripts are affine"
        )
    stored = array.dimensions[array.tile :]
    if step.dimension not in stored:
        raise ScheduleError(
            f"array '{array.name}' has no dimension '{step.dimension}'"
            f"{suggestion(step.dimension, stored)}"
        )
    if into in program.arrays or into in program.statements or not into.isidentifier():
        raise ScheduleError(
            f"'{into}' cannot name the folded array '{array.name}': it is taken or not an "
            "identifier; pass another with into="
        )
    return array, array.dimensions.index(step.dimension)


def _folded(statement: Statement, array: str, into: str, position: int, size: int) -> Statement:
    """Return the statement with its subscripts of the array taken modulo the size."""

    def subscripts(element: tuple[Expression, ...]) -> tuple[Expression, ...]:
        slot = Constant(0) if size == 1 else element[position] % size
        return (*element[:position], slot, *element[position + 1 :])

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Load) and node.array == array:
            return replace(node, array=into, subscripts=subscripts(node.subscripts))
        return None

    if all(access.array != array for access in statement.accesses):
        return statement
    written = tuple(transform(index, rule) for index in statement.target.subscripts)
    target = replace(statement.target, subscripts=written)
    if target.array == array:
        target = Access(into, subscripts(target.subscripts), target.location)
    return replace(statement, target=target, value=transform(statement.value, rule))


def _sharing(program: Program, array: Array, position: int, size: int) -> isl.Map:
    """Return the relation between different elements of an array that share a slot."""
    names = [f"_{number}" for number in range(len(array.shape))]
    space = instance_space(program.kernel.parameters, array.name, names)
    element = to_pw_aff(Index(names[position]), space)
    slot = element.mod_val(isl.Val(size))
    result = element.lt_map(element).union(element.gt_map(element)).intersect(slot.eq_map(slot))
    for other in range(len(names)):
        if other != position:
            result = result.equate(isl.dim_type.in_, other, isl.dim_type.out, other)
    return result


def _kept_apart(program: Program, array: Array, conflicts: isl.Map) -> list[Dependence]:
    """Return the dependences that keep the values of different elements apart in shared memory."""
    tree = executed(program.tree)
    touched = {
        reference: access_relation(
            program.statements[reference.statement],
            program.statements[reference.statement].accesses[reference.position],
        )
        for reference in references_to(program, array)
    }
    writes = [reference for reference in touched if not reference.position]
    flows = root_flows(array.name, program.statements, program.dependences)
    added: list[Dependence] = []
    # Any of several values that are never read may remain, but two threads must not store at once.
    unread = {
        write: reduce(
            isl.Set.subtract,
            (flow.relation.domain() for flow in flows if flow.source == write),
            program.statements[write.statement].domain,
        )
        for write in writes
    }
    for write, other in product(writes, writes):
        met = touched[write].apply_range(conflicts).apply_range(touched[other].reverse())
        met = met.intersect_domain(unread[write]).intersect_range(unread[other])
        pairs = _ordered(tree, write.statement, other.statement, met)
        if not pairs.is_empty():
            added.append(_storage(DependenceKind.OUTPUT, array, write, other, pairs))
    for flow in flows:
        root, read = flow.source, flow.sink
        value = flow.relation
        for write in writes:
            met = touched[root].apply_range(conflicts).apply_range(touched[write].reverse())
            met = met.intersect_domain(value.domain())
            earlier = _ordered(tree, write.statement, root.statement, met.reverse())
            later = value.reverse().apply_range(met.subtract(earlier.reverse()))
            if read.statement == write.statement:
                later = later.subtract(isl.Map.identity(later.get_space()))
            for kind, source, sink, pairs in (
                (DependenceKind.OUTPUT, write, root, earlier),
                (DependenceKind.ANTI, read, write, later),
            ):
                if not pairs.is_empty():
                    added.append(_storage(kind, array, source, sink, pairs))
    return added


def _storage(
    kind: DependenceKind, array: Array, source: Reference, sink: Reference, pairs: isl.Map
) -> Dependence:
    # Coalescing eight pieces with unknown integer divisions has ended the process, inside of isl.
    pairs = pairs.compute_divs().coalesce()
    return Dependence(kind, array.name, source, sink, pairs, storage=True)


def _ordered(node: Node, first: str, second: str, pairs: isl.Map) -> isl.Map:
    """Return the pairs of instances of two statements of which the first runs before the second.

    Args:
        node: the tree as it is executed, or a part of it around both statements.
    """
    match node:
        case Loop(values=values, body=body):
            source, sink = values[first], values[second]
            together = pairs.intersect(source.eq_map(sink))
            before = pairs.intersect(source.lt_map(sink))
            return before.union(_ordered(body, first, second, together))
        case Sequence(children=children):
            below = [statements(child) for child in children]
            earlier, later = (
                next(position for position, names in enumerate(below) if name in names)
                for name in (first, second)
            )
            if earlier == later:
                return _ordered(children[earlier], first, second, pairs)
            return pairs if earlier < later else pairs.subtract(pairs)
        case Leaf():
            return pairs.subtract(pairs)
