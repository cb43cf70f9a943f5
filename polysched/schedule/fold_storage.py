"""fold_storage: a dimension of a temporary array is stored modulo a size, in so many slots.

Storage is judged by values. The array holds a value from the write that makes it until its last
read; an instance that updates its own element (it reads what it overwrites) carries a value on. So
a value begins at a *root*: a write that does not read its own element. Two elements that share a
slot are kept apart by dependences: for a root ``p`` on ``e``, a read ``r`` of its value and a write
``w`` to another element in the slot of ``e``, either ``w`` stays before ``p`` (an output
dependence), or ``r`` stays before ``w`` (an anti dependence). Which of the two is decided by the
order in which the program runs ``w`` and ``p`` at this step; so where ``w`` runs between ``p`` and
``r``, the dependence is broken now, and a later step that moves ``w`` behind ``r`` mends it.

Where these dependences are broken, the values may still be apart in the opposite order: that is
decided where legality is decided, by the elements that the references mean, which the program
keeps (:attr:`Program.folded`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.values import root_flows
from polysched.errors import ScheduleError, suggestion
from polysched.ir.affine import instance_space, to_pw_aff
from polysched.ir.expressions import Constant, Expression, Index, Load
from polysched.ir.kernel import Access, Array, Role, Statement, access_relation
from polysched.ir.linear import simplify
from polysched.ir.traversal import transform
from polysched.ir.tree import Leaf, Loop, Node, Sequence, executed, statements
from polysched.schedule.elements import meant_elements
from polysched.schedule.lifetime import references_to
from polysched.schedule.program import Program, require_positive


@dataclass(frozen=True)
class FoldStorage:
    """Store a dimension of a temporary array in so many slots, used in turn.

    Args:
        array: a temporary array of the kernel, or a buffer that a step has made.
        dimension: the name of one of its dimensions (``d0``, ``d1``, ... if none were declared).
        size: the number of slots; element ``e`` is stored in slot ``e mod size``.
        into: name of the smaller array; by default ``<array>_folded``.
    """

    array: str
    dimension: str
    size: int
    into: str | None = None


def fold_storage(program: Program, step: FoldStorage) -> Program:
    """Store a dimension of a temporary array modulo a number of slots.

    Legal where every read still finds its value: see :mod:`polysched.schedule.fold_storage`. Steps
    that bring a consumer near its producer (``fuse``, ``shift``, ``compute_at``) may come before or
    after. An extent that is a literal smaller than ``size`` stays.

    before::

        for i in 0..n:
          t[i] = f(i)
          if i >= 2: y[i] = t[i - 2] + t[i]

    after ``fold_storage("t", "d0", 3)``::

        for i in 0..n:
          t_folded[i mod 3] = f(i)
          if i >= 2: y[i] = t_folded[(i - 2) mod 3] + t_folded[i mod 3]
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
            replace(one, array=into) if one.array == array.name else one for one in dependences
        ),
        folded={**program.folded, into: elements},
    )


def _checked(program: Program, step: FoldStorage, into: str) -> tuple[Array, int]:
    require_positive(f"the size of fold_storage('{step.array}')", step.size)
    if step.array not in program.arrays:
        raise ScheduleError(f"no array '{step.array}'{suggestion(step.array, program.arrays)}")
    array = program.arrays[step.array]
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
            f"a subscript of array '{array.name}' depends on data, so nobody knows when an element "
            "is last read; fold_storage takes an array whose subscripts are affine"
        )
    stored = array.dimensions[array.tile :]
    if step.dimension not in stored:
        raise ScheduleError(
            f"array '{array.name}' has no dimension '{step.dimension}'"
            f"{suggestion(step.dimension, stored)}"
        )
    if into in program.arrays or into in program.statements or not into.isidentifier():
        raise ScheduleError(
            f"'{into}' cannot name the folded array '{array.name}': it is taken or no "
            "identifier; pass another with into="
        )
    return array, array.dimensions.index(step.dimension)


def _folded(statement: Statement, array: str, into: str, position: int, size: int) -> Statement:
    """The statement with its subscripts of the array taken modulo the size."""

    def subscripts(given: tuple[Expression, ...]) -> tuple[Expression, ...]:
        slot = Constant(0) if size == 1 else given[position] % size
        return (*given[:position], slot, *given[position + 1 :])

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Load) and node.array == array:
            return replace(node, array=into, subscripts=subscripts(node.subscripts))
        return None

    if all(access.array != array for access in statement.accesses):
        return statement
    target = statement.target
    target = replace(target, subscripts=tuple(transform(one, rule) for one in target.subscripts))
    if target.array == array:
        target = Access(into, subscripts(target.subscripts), target.location)
    return replace(statement, target=target, value=transform(statement.value, rule))


def _sharing(program: Program, array: Array, position: int, size: int) -> isl.Map:
    """The relation between different elements of an array that share a slot."""
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
    """The dependences that keep the values of different elements apart in shared memory."""
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
    made: list[Dependence] = []
    # Of values that nobody reads any may be left, but two threads must not store at once.
    unread = {
        write: reduce(
            isl.Set.subtract,
            (flow.relation.domain() for flow in flows if flow.source == write),
            program.statements[write.statement].domain,
        )
        for write in writes
    }
    for one, other in product(writes, writes):
        met = touched[one].apply_range(conflicts).apply_range(touched[other].reverse())
        met = met.intersect_domain(unread[one]).intersect_range(unread[other])
        pairs = _ordered(tree, one.statement, other.statement, met)
        if not pairs.is_empty():
            made.append(_storage(DependenceKind.OUTPUT, array, one, other, pairs))
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
                    made.append(_storage(kind, array, source, sink, pairs))
    return made


def _storage(
    kind: DependenceKind, array: Array, source: Reference, sink: Reference, pairs: isl.Map
) -> Dependence:
    # Coalescing eight pieces with unknown integer divisions has ended the process, inside of isl.
    pairs = pairs.compute_divs().coalesce()
    return Dependence(kind, array.name, source, sink, pairs, storage=True)


def _ordered(node: Node, first: str, second: str, pairs: isl.Map) -> isl.Map:
    """The pairs of instances of two statements of which the first runs before the second.

    Args:
        node: the tree as it is executed, or a part of it around both statements.
    """
    match node:
        case Loop(values=values, body=body):
            one, two = values[first], values[second]
            together = pairs.intersect(one.eq_map(two))
            before = pairs.intersect(one.lt_map(two))
            return before.union(_ordered(body, first, second, together))
        case Sequence(children=children):
            below = [statements(child) for child in children]
            places = [
                next(place for place, names in enumerate(below) if name in names)
                for name in (first, second)
            ]
            if places[0] == places[1]:
                return _ordered(children[places[0]], first, second, pairs)
            return pairs if places[0] < places[1] else pairs.subtract(pairs)
        case Leaf():
            return pairs.subtract(pairs)
