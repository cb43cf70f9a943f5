"""Buffers at a loop: the part of an array that one iteration touches gets memory of its own.

Both ``pack`` and ``promote`` put a copy of a tile of an array into a buffer. An iteration of the
loop (with the loops around it) is a *tile*, named by the tuple of the loops' values. Logically the
buffer is indexed by tile and position, so that no two tiles share an element; that one piece of
memory serves all tiles is a separate question of storage, decided where legality is decided.

How the dependences follow is in :mod:`polysched.schedule.translation`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polysched.dependence.relations import Dependence, Reference
from polysched.errors import ScheduleError, suggestion
from polysched.ir.affine import from_pw_aff, to_pw_aff
from polysched.ir.expressions import (
    Constant,
    Expression,
    Index,
    Load,
)
from polysched.ir.extrema import greatest
from polysched.ir.kernel import (
    Access,
    Array,
    Role,
    Statement,
    access_relation,
)
from polysched.ir.linear import simplify
from polysched.ir.traversal import transform
from polysched.ir.tree import Leaf, Loop, Node, Sequence, sequence, statements
from polysched.schedule.program import Program, counted_loop, prefix_loops, prefix_map


@dataclass(frozen=True, eq=False)
class Buffering:
    """What one buffer is about.

    ``redirect`` maps the instances of a reference to ``[tile, element]`` (a flat tuple); ``lowest``
    gives for each dimension of the array the smallest subscript in a tile, over the space of tiles.
    """

    array: Array
    buffer: Array
    loop: Loop
    around: tuple[Loop, ...]
    tile_names: tuple[str, ...]
    element_names: tuple[str, ...]
    order: tuple[int, ...]
    lowest: tuple[isl.PwAff, ...]
    redirect: dict[Reference, isl.Map]

    @property
    def reads(self) -> list[Reference]:
        """The redirected reads."""
        return [reference for reference in self.redirect if reference.position]

    @property
    def writes(self) -> list[Reference]:
        """The redirected writes."""
        return [reference for reference in self.redirect if not reference.position]

    def same_tile(self, dependence: Dependence) -> isl.Map:
        """The pairs of a dependence between redirected references that lie in one tile."""
        tiles = [
            self.redirect[reference].project_out(
                isl.dim_type.out, len(self.around), len(self.element_names)
            )
            for reference in (dependence.source, dependence.sink)
        ]
        return dependence.relation.intersect(tiles[0].apply_range(tiles[1].reverse()))


def plan_buffer(
    program: Program, array_name: str, at: str, into: str, order: tuple[str, ...] | None
) -> Buffering:
    """Find the references below a loop to an array, and the box that a tile needs of it.

    Raises:
        ScheduleError: the array or loop is unknown, the array is not touched below the loop, the
            names of dimensions are wrong, or a tile has no bounded box.
    """
    if array_name not in program.arrays:
        raise ScheduleError(f"no array '{array_name}'{suggestion(array_name, program.arrays)}")
    if into in program.arrays or into in program.statements or not into.isidentifier():
        raise ScheduleError(
            f"'{into}' cannot name the buffer of array '{array_name}': it is taken or no "
            "identifier; pass another with into="
        )
    array = program.arrays[array_name]
    loop = counted_loop(program, at)
    around = prefix_loops(program, loop)
    element_names = array.dimensions
    tile_names = tuple(f"at_{outer.name}" for outer in around)
    redirect = _redirections(program, loop, around, array)
    if not redirect:
        raise ScheduleError(
            f"no statement that ever runs below loop '{at}' accesses array '{array_name}'"
        )
    footprint = _footprint(redirect, len(around))
    _require_one_tile(footprint, array, at)
    lowest = tuple(_lowest(footprint, position, tile_names) for position in range(len(array.shape)))
    dimension_order = _dimension_order(array, order)
    shape = tuple(
        _extent(footprint, lowest[position], position, array, at) for position in dimension_order
    )
    buffer = Array(
        into,
        array.dtype,
        (*(Constant(0) for _ in around), *shape),
        Role.TEMPORARY,
        (*tile_names, *(array.dimensions[position] for position in dimension_order)),
        tile=len(around),
        location=array.location,
    )
    return Buffering(
        array, buffer, loop, around, tile_names, element_names, dimension_order, lowest, redirect
    )


def _redirections(
    program: Program, loop: Loop, around: tuple[Loop, ...], array: Array
) -> dict[Reference, isl.Map]:
    redirect = {}
    for name in statements(loop):
        statement = program.statements[name]
        if statement.domain.is_empty():
            continue
        for position, access in enumerate(statement.accesses):
            if access.array == array.name:
                relation = prefix_map(statement, around, []).flat_range_product(
                    access_relation(statement, access)
                )
                redirect[Reference(name, position)] = relation.reset_tuple_id(isl.dim_type.out)
    return redirect


def _footprint(redirect: dict[Reference, isl.Map], depth: int) -> isl.Map:
    """The relation from tiles to the elements of the array that they touch."""
    touched: isl.Set | None = None
    for relation in redirect.values():
        reached = relation.range()
        touched = reached if touched is None else touched.union(reached)
    assert touched is not None
    return isl.Map.from_domain(touched).move_dims(
        isl.dim_type.out,
        0,
        isl.dim_type.in_,
        depth,
        touched.dim(isl.dim_type.set) - depth,
    )


def _require_one_tile(footprint: isl.Map, array: Array, at: str) -> None:
    """Check that an iteration touches one tile of an array that is a buffer itself.

    All tiles of a buffer share one piece of memory; a buffer of several tiles would mix them up.

    Raises:
        ScheduleError: it touches several.
    """
    for position in range(array.tile):
        if not _element_column(footprint, position).is_single_valued():
            raise ScheduleError(
                f"an iteration of loop '{at}' touches several tiles of buffer '{array.name}', one "
                f"for each '{array.dimensions[position]}'; take a loop inside the one at which "
                f"'{array.name}' was made"
            )


def _element_column(footprint: isl.Map, position: int) -> isl.Map:
    count = footprint.dim(isl.dim_type.out)
    column = footprint.project_out(isl.dim_type.out, position + 1, count - position - 1)
    return column.project_out(isl.dim_type.out, 0, position)


def _lowest(footprint: isl.Map, position: int, tile_names: tuple[str, ...]) -> isl.PwAff:
    column = _element_column(footprint, position)
    function = column.dim_min(0).gist(column.domain()).coalesce()
    return _named(function, tile_names)


def _extent(
    footprint: isl.Map, lowest: isl.PwAff, position: int, array: Array, at: str
) -> Expression:
    column = _element_column(footprint, position)
    starts = isl.Map.from_pw_aff(lowest).reset_tuple_id(isl.dim_type.in_)
    offsets = starts.intersect_domain(column.domain()).reverse().apply_range(column).deltas()
    if not offsets.dim_has_upper_bound(isl.dim_type.set, 0):
        raise ScheduleError(
            f"dimension '{array.dimensions[position]}' of array '{array.name}' has no bounded "
            f"extent in an iteration of loop '{at}'"
        )
    last = offsets.dim_max(0)
    highest = greatest(offsets, 0)
    if highest is not None and _reaches(last, highest):
        return Constant(highest + 1)
    return simplify(from_pw_aff(last) + 1, {})


def _reaches(last: isl.PwAff, highest: int) -> bool:
    """Whether the literal is the value of a whole piece: the extent of a full tile, say.

    It is then taken for the partial tiles of small sizes too: the buffer has literal extents.
    """
    return any(
        simplify(from_pw_aff(isl.PwAff.from_aff(piece)), {}) == Constant(highest)
        for _, piece in last.get_pieces()
    )


def _dimension_order(array: Array, order: tuple[str, ...] | None) -> tuple[int, ...]:
    names = array.dimensions
    tiles = range(array.tile, len(names))
    if order is None:
        return tuple(tiles)
    if sorted(order) != sorted(names[position] for position in tiles):
        raise ScheduleError(
            f"order={order!r} must name each dimension of array '{array.name}' once: "
            f"{', '.join(names[array.tile :])}"
        )
    return tuple(names.index(name) for name in order)


def redirected_statement(plan: Buffering, statement: Statement) -> Statement:
    """The statement with its references to the array replaced by references to the buffer."""
    tiles = [outer.values[statement.name] for outer in plan.around]
    prefix = isl.PwMultiAff.from_map(prefix_map(statement, plan.around, []))

    def subscripts(access: Access) -> tuple[Expression, ...]:
        space = statement.domain.get_space()
        columns = list(tiles)
        for position in plan.order:
            start = plan.lowest[position].reset_tuple_id(isl.dim_type.in_)
            value = to_pw_aff(access.subscripts[position], space)
            columns.append(value.sub(start.pullback_pw_multi_aff(prefix)))
        return tuple(
            from_pw_aff(_named(column.gist(statement.domain).coalesce(), statement.indices))
            for column in columns
        )

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Load) and node.array == plan.array.name:
            access = Access(node.array, node.subscripts, node.location)
            return replace(node, array=plan.buffer.name, subscripts=subscripts(access))
        return None

    target = statement.target
    if target.array == plan.array.name:
        target = replace(target, array=plan.buffer.name, subscripts=subscripts(target))
    return replace(statement, target=target, value=transform(statement.value, rule))


def _named(function: isl.PwAff, indices: tuple[str, ...]) -> isl.PwAff:
    """The function with its dimensions named; isl forgets the names in some operations."""
    for position, index in enumerate(indices):
        function = function.set_dim_id(isl.dim_type.in_, position, isl.Id(index))
    return function


def copy_statement(plan: Buffering, name: str, elements: isl.Set, *, outward: bool) -> Statement:
    """The statement that copies ``elements`` (``[tile, element]``) into or out of the buffer."""
    indices = (*plan.tile_names, *(f"{name}_{dimension}" for dimension in plan.element_names))
    domain = elements.set_tuple_name(name)
    for position, index in enumerate(indices):
        domain = domain.set_dim_name(isl.dim_type.set, position, index)
    tile = tuple(Index(index) for index in plan.tile_names)
    element = tuple(Index(index) for index in indices[len(tile) :])
    inside = (
        *tile,
        *(element[position] - from_pw_aff(plan.lowest[position]) for position in plan.order),
    )
    array, buffer = plan.array.name, plan.buffer.name
    target, source = (
        (Access(array, element), (buffer, inside))
        if outward
        else (Access(buffer, inside), (array, element))
    )
    value = Load(source[0], source[1], plan.array.dtype)
    return Statement(name, indices, domain, target, value, location=plan.array.location)


def copy_nest(plan: Buffering, copy: Statement) -> tuple[Loop, ...]:
    """The loops of a copy, outermost first: one a dimension, in the buffer's order, counted from 0.

    Each is named as the dimension of the array; their bodies are placeholders that :func:`nested`
    fills.
    """
    space = copy.domain.get_space()
    placeholder = Leaf(copy.name)
    made = []
    for position in plan.order:
        index = copy.indices[len(plan.tile_names) + position]
        offset = Index(index) - from_pw_aff(plan.lowest[position])
        values = {copy.name: to_pw_aff(offset, space)}
        made.append(Loop(plan.array.dimensions[position], values, placeholder))
    return tuple(made)


def nested(nest: tuple[Loop, ...], statement: str) -> Node:
    """Loops put into each other, around the leaf of one statement."""
    node: Node = Leaf(statement)
    for loop in reversed(nest):
        node = replace(loop, body=node)
    return node


def with_copies(
    plan: Buffering, tree: Node, copies: dict[str, Statement], before: list[Node], after: list[Node]
) -> Node:
    """The tree with copy nests at the start and the end of the buffer's loop."""
    around = list(plan.around)

    def visit(node: Node) -> Node:
        match node:
            case Loop() if any(node is outer for outer in around):
                position = [node is outer for outer in around].index(True)
                column = {
                    name: to_pw_aff(Index(plan.tile_names[position]), copy.domain.get_space())
                    for name, copy in copies.items()
                }
                body = visit(node.body)
                if node is plan.loop:
                    body = sequence([*before, body, *after])
                return replace(node, values={**node.values, **column}, body=body)
            case Sequence(children=children):
                return sequence([visit(child) for child in children])
            case _:
                return node

    return visit(tree)
