"""Recomputation: every iteration of a consumer's loop computes all it reads (overlapped tiles)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import islpy as isl

from polysched.dependence.relations import Dependence
from polysched.dependence.values import contributions
from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Role, Statement
from polysched.ir.core.tree import Loop, Node, map_children, path, statements
from polysched.ir.expr.affine import named
from polysched.schedule.buffers.buffering import plan_buffer
from polysched.schedule.buffers.copies import without_copies
from polysched.schedule.buffers.placement import iterations_of_use, placed, taken_out
from polysched.schedule.core.exactness import require_exact_accesses
from polysched.schedule.core.program import Program, base_name, prefix_loops


def recomputed(
    program: Program,
    producers: frozenset[str],
    target: Loop,
    at: str,
    order: tuple[str, ...] | None = None,
) -> Program:
    """Run producers in every iteration of a loop that reads their values.

    A tile is an iteration of the loop and of the loops around it. An instance ``p`` becomes the
    instances ``[tile, p]``, one for each tile that reads a value to which ``p`` contributed. They
    write to a buffer of the tile, named ``<array>_at_<loop>``, from which the consumers in the tile
    read. So dependences between producers and consumers stay within a tile. Whatever ran before or
    after ``p`` runs before or after all its copies, so the copies read the same inputs and compute
    the same value.

    A statement keeps its name; :attr:`Program.recomputed` maps its instances to declared instances.

    before::

        for i in 0..n + 2: t[i] = f(i)
        for i in 0..n: y[i] = t[i] + t[i + 2]

    after ``split("C.i", 8).compute_at("t", at="io", recompute=True)``::

        for io in 0..ceil(n / 8):
          for i in 0..min(10, n + 2 - 8*io): t_at_io[i] = f(8*io + i)
          for ii in 0..min(8, n - 8*io): y[8*io + ii] = t_at_io[ii] + t_at_io[ii + 2]

    Args:
        producers: all the statements that write one temporary array. All other readers of the array
            are below the loop. A producer reads of the array only the element that it updates, as a
            reduction does.
        target: the loop.
        at: the loop's name in the step.
        order: the array's dimensions in the order of the buffer; by default the array's own order.

    Raises:
        ScheduleError: the producers do not fulfill these conditions, a tile reads an unbounded part
            of the array, or the order does not name its dimensions.
    """
    array = _recomputable_array(program, producers, target, at)
    nest, rest = taken_out(program, producers)
    reference = _reference(program, target)
    flows = contributions(array, program.statements, program.dependences)
    uses = {name: iterations_of_use(program, flows, name, target, at) for name in sorted(producers)}
    _require_whole(producers, flows, uses, array, at)
    around = prefix_loops(program, target)
    new = {name: _in_tiles(program.statements[name], uses[name], around) for name in uses}
    instances = {name: _instance_map(new[name], program.statements[name]) for name in uses}
    origins = {
        name: instance.apply_range(program.recomputed[name])
        if name in program.recomputed
        else instance
        for name, instance in instances.items()
    }
    copied = replace(
        program,
        statements={**program.statements, **new},
        dependences=_copied(program.dependences, instances),
        recomputed={**program.recomputed, **origins},
    )
    tiles = {name: _tile_map(new[name], len(around)) for name in uses}
    inner = _pulled_back(nest, new, instances)
    tree = placed(copied, inner, rest, target, tiles)
    return _in_buffer(copied.with_tree(tree), array, reference, at, order)


def _reference(program: Program, target: Loop) -> str:
    """Return a name for the loop by a statement below it.

    A statement that is in no other loop of that name is preferred. The loops of a copy are named
    after the dimensions of an array, so they may have the loop's name.
    """
    names = {
        statement: [loop.name for loop in path(program.tree, statement)].count(target.name)
        for statement in sorted(statements(target))
    }
    return f"{min(names, key=names.__getitem__)}.{target.name}"


def _recomputable_array(program: Program, producers: frozenset[str], target: Loop, at: str) -> str:
    """Return the array that the producers write, after checking that it can be recomputed."""
    array = program.arrays[program.statements[min(producers)].target.array]
    if array.role is not Role.TEMPORARY:
        raise ScheduleError(
            f"'{min(producers)}' writes '{array.name}', an {array.role.value}: it must be written "
            "once only; recompute=True takes the producers of a temporary array"
        )
    require_exact_accesses(program, array.name, program.statements, f"loop '{at}'")
    below = frozenset(statements(target))
    for name, statement in program.statements.items():
        if name in producers:
            continue
        if statement.target.array == array.name:
            raise ScheduleError(
                f"array '{array.name}' is written by '{name}' too; recompute=True takes all that "
                f"write an array at once: name the array, '{array.name}', instead of a statement"
            )
        if name not in below and any(access.array == array.name for access in statement.reads):
            raise ScheduleError(
                f"'{name}' reads array '{array.name}' outside of loop '{at}', where its values "
                "would be gone; take a loop around all its readers"
            )
    return array.name


def _require_whole(
    producers: frozenset[str],
    flows: tuple[Dependence, ...],
    uses: dict[str, isl.Map],
    array: str,
    at: str,
) -> None:
    """Check that a tile computes all values that its producers read of their own array."""
    for flow in flows:
        source, sink = flow.source.statement, flow.sink.statement
        if {source, sink} <= producers and not flow.relation.apply_range(uses[sink]).is_subset(
            uses[source]
        ):
            raise ScheduleError(
                f"to compute what an iteration of loop '{at}' reads of array '{array}', '{sink}' "
                f"would need more from '{source}' than the iteration reads itself; recompute=True "
                "takes producers that read of their own array only the element they update"
            )


def _in_tiles(old: Statement, uses: isl.Map, around: tuple[Loop, ...]) -> Statement:
    """Return the statement with an instance per pair of a tile and an old instance that it uses."""
    names: list[str] = []
    for loop in around:
        name = f"at_{loop.name}"
        while name in old.indices:
            name += "_"
        names.append(name)
    indices = (*names, *old.indices)
    domain = uses.reverse().wrap().flatten().coalesce().set_tuple_name(old.name)
    for position, index in enumerate(indices):
        domain = domain.set_dim_name(isl.dim_type.set, position, index)
    return replace(old, indices=indices, domain=domain)


def _instance_map(new: Statement, old: Statement) -> isl.Map:
    same = isl.Map.identity(new.domain.get_space().map_from_set()).intersect_domain(new.domain)
    instance = same.project_out(isl.dim_type.out, 0, len(new.indices) - len(old.indices))
    return instance.set_tuple_name(isl.dim_type.out, old.name)


def _tile_map(new: Statement, depth: int) -> isl.PwMultiAff:
    """Return the map from the instances ``[tile, p]`` to ``tile``, of length ``depth``."""
    same = isl.Map.identity(new.domain.get_space().map_from_set()).intersect_domain(new.domain)
    tile = same.project_out(isl.dim_type.out, depth, len(new.indices) - depth)
    return isl.PwMultiAff.from_map(tile)


def _copied(
    dependences: Iterable[Dependence], instances: Mapping[str, isl.Map]
) -> tuple[Dependence, ...]:
    """Return the dependences of the copies: each copy has those of its original instance."""
    copies = {name: instance.reverse() for name, instance in instances.items()}
    result = []
    for dependence in dependences:
        relation = dependence.relation
        if dependence.source.statement in copies:
            relation = relation.apply_domain(copies[dependence.source.statement])
        if dependence.sink.statement in copies:
            relation = relation.apply_range(copies[dependence.sink.statement])
        result.append(replace(dependence, relation=relation))
    return tuple(result)


def _pulled_back(
    node: Node, new: Mapping[str, Statement], instances: Mapping[str, isl.Map]
) -> Node:
    """Return the producers' nest with its loops' values as functions of the new instances."""
    if isinstance(node, Loop):
        changed = {}
        for name, value in node.values.items():
            pulled = value.pullback_pw_multi_aff(isl.PwMultiAff.from_map(instances[name]))
            changed[name] = named(pulled, new[name].indices)
        node = replace(node, values=changed)
    return map_children(node, lambda child: _pulled_back(child, new, instances))


def _in_buffer(
    program: Program, array: str, loop: str, at: str, order: tuple[str, ...] | None
) -> Program:
    """Move the array's part in each tile to a buffer without copies in or out.

    Args:
        loop: the loop in the program's tree; its name in the step is ``at``.
    """
    into = f"{array}_at_{base_name(at)}"
    while into in program.arrays or into in program.statements:
        into += "_"
    plan = plan_buffer(program, array, loop, into, order)
    return without_copies(program, plan)
