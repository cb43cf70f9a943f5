"""Statements and loops of a buffer: redirected accesses, and nests that fill and empty it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import islpy as isl

from polysched.ir.core.kernel import Access, Statement
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, sequence, statements
from polysched.ir.expr.affine import from_pw_aff, literal, named, to_pw_aff
from polysched.ir.expr.expressions import Expression, Index, Load
from polysched.ir.expr.linear import simplify
from polysched.ir.expr.traversal import loads, transform
from polysched.ir.isl.shared_results import remembered
from polysched.schedule.buffers.buffering import Buffering
from polysched.schedule.buffers.translation import translated
from polysched.schedule.core.program import Program, prefix_map


def redirected_statements(program: Program, plan: Buffering) -> dict[str, Statement]:
    """Return the program's statements, with accesses to the array below the loop redirected."""
    touched = {reference.statement for reference in plan.redirect}
    return {
        name: redirected_statement(plan, statement) if name in touched else statement
        for name, statement in program.statements.items()
    }


def without_copies(program: Program, plan: Buffering) -> Program:
    """Return the program with the array below the loop in the buffer, without copies in or out."""
    return replace(
        program,
        arrays={**program.arrays, plan.buffer.name: plan.buffer},
        statements=redirected_statements(program, plan),
        dependences=translated(plan, program.dependences, None, None),
    )


def redirected_statement(plan: Buffering, statement: Statement) -> Statement:
    """Return the statement with its references to the array redirected to the buffer."""
    tiles = [outer.values[statement.name] for outer in plan.around]
    prefix = isl.PwMultiAff.from_map(prefix_map(statement, plan.around, []))

    def offset(value: isl.PwAff, start: isl.PwAff) -> isl.PwAff:
        return value.sub(start.reset_tuple_id(isl.dim_type.in_).pullback_pw_multi_aff(prefix))

    def expression(column: isl.PwAff) -> Expression:
        return from_pw_aff(named(column.gist(statement.domain).coalesce(), statement.indices))

    def inside(subscript: Expression, start: isl.PwAff) -> Expression:
        if loads(subscript):
            return simplify(subscript + expression(offset(zero, start)), {})
        return expression(offset(to_pw_aff(subscript, space), start))

    space = statement.domain.get_space()
    zero = literal(space, 0)
    if plan.first is not None:
        tiles[-1] = offset(tiles[-1], plan.first)
    indices = statement.indices
    tile = [
        remembered(
            partial(expression, value), redirected_statement, (value, statement.domain), indices
        )
        for value in tiles
    ]

    @cache  # an update reads and writes one element
    def subscripts(given: tuple[Expression, ...]) -> tuple[Expression, ...]:
        elements = [inside(given[position], plan.lowest[position]) for position in plan.order]
        return tuple(plan.columns(tile, elements))

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Load) and node.array == plan.array.name:
            return replace(node, array=plan.buffer.name, subscripts=subscripts(node.subscripts))
        return None

    written = tuple(transform(index, rule) for index in statement.target.subscripts)
    target = replace(statement.target, subscripts=written)
    if target.array == plan.array.name:
        target = replace(target, array=plan.buffer.name, subscripts=subscripts(target.subscripts))
    return replace(statement, target=target, value=transform(statement.value, rule))


def copy_statement(plan: Buffering, name: str, elements: isl.Set, *, outward: bool) -> Statement:
    """Return the statement that copies ``[tile, element]`` pairs into or out of the buffer."""
    indices = (*plan.tile_names, *(f"{name}_{dimension}" for dimension in plan.element_names))
    domain = elements.set_tuple_name(name)
    for position, index in enumerate(indices):
        domain = domain.set_dim_name(isl.dim_type.set, position, index)
    tile: list[Expression] = [Index(index) for index in plan.tile_names]
    element = tuple(Index(index) for index in indices[len(tile) :])
    if plan.first is not None:
        tile[-1] = tile[-1] - from_pw_aff(plan.first)
    inside = tuple(
        plan.columns(
            tile,
            [element[position] - from_pw_aff(plan.lowest[position]) for position in plan.order],
        )
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
    """Return the loops of a copy, outermost first: one per dimension in the buffer's order, from 0.

    A loop is named after its dimension. The bodies are placeholders, which :func:`.nested` fills.
    """
    space = copy.domain.get_space()
    placeholder = Leaf(copy.name)
    nest = []
    for position in plan.order:
        index = copy.indices[len(plan.tile_names) + position]
        offset = Index(index) - from_pw_aff(plan.lowest[position])
        values = {copy.name: to_pw_aff(offset, space)}
        nest.append(Loop(plan.array.dimensions[position], values, placeholder))
    return tuple(nest)


def with_copies(
    plan: Buffering,
    tree: Node,
    copies: dict[str, Statement],
    *,
    first: Node | None = None,
    last: Node | None = None,
    after: Node | None = None,
) -> Node:
    """Return the tree with nests of copies at the buffer's loop.

    Args:
        copies: the statements of the nests, by name.
        first: the nest that runs at the start of every iteration of the loop; without a loop,
            at the start of the program.
        last: the nest that runs at the end of every iteration.
        after: the nest that runs after the loop.
    """

    def visit(node: Node) -> Node:
        match node:
            case Loop() if node is plan.loop:
                body = _sequence(first, node.body, last)
                return _sequence(None, _around(plan, node, body, copies), after)
            case Loop() if any(node is outer for outer in plan.around):
                return _around(plan, node, visit(node.body), copies)
            case Sequence(children=children):
                return sequence([visit(child) for child in children])
            case _:
                return node

    return _sequence(first, tree, last) if plan.loop is None else visit(tree)


def _sequence(*nodes: Node | None) -> Node:
    return sequence([node for node in nodes if node is not None])


def _around(plan: Buffering, loop: Loop, body: Node, copies: dict[str, Statement]) -> Loop:
    """Return a loop around copies; its value for a copy is the tile's."""
    index = Index(plan.tile_names[[loop is outer for outer in plan.around].index(True)])
    values = {
        name: to_pw_aff(index, copies[name].domain.get_space())
        for name in statements(body)
        if name in copies
    }
    return replace(loop, values={**loop.values, **values}, body=body)
