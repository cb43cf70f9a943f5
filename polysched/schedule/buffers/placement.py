"""Placement of a producer in the loop tree, at the start of iterations of its consumer's loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind
from polysched.errors import ScheduleError
from polysched.ir.core.tree import (
    Leaf,
    Loop,
    Node,
    Sequence,
    map_children,
    restrict,
    sequence,
    statements,
)
from polysched.schedule.core.program import (
    Program,
    is_always_zero,
    prefix_function,
    prefix_loops,
    prefix_map,
)


def iterations_of_use(
    program: Program, dependences: Iterable[Dependence], producer: str, target: Loop, at: str
) -> isl.Map:
    """Return the map from a producer's instances to the iterations that read their values.

    An iteration is the tuple of the values of the loops from the outermost to ``target``.

    Args:
        dependences: the dependences whose flow counts.
        at: the loop's name in the step.

    Raises:
        ScheduleError: the loop reads no value of the producer, or not the value of some instance.
    """
    around = prefix_loops(program, target)
    uses: isl.Map | None = None
    for flow in _flows(dependences, producer, target):
        consumer = program.statements[flow.sink.statement]
        used = flow.relation.apply_range(prefix_map(consumer, around, []))
        uses = used if uses is None else uses.union(used)
    if uses is None:
        raise ScheduleError(f"no statement below loop '{at}' reads what '{producer}' produces")
    for position, index in enumerate(program.statements[producer].indices):
        # Translated dependences may lack the names.
        uses = uses.set_dim_name(isl.dim_type.in_, position, index)
    unused = program.statements[producer].domain.subtract(uses.domain())
    if not unused.is_empty():
        raise ScheduleError(
            f"some instances of '{producer}' have no iteration to run in: no iteration of loop "
            f"'{at}' reads the value of {_sample(unused, producer)}; declare only values that are "
            "read, or minimum= of a parameter, if only the smallest sizes have such instances"
        )
    return uses


def _sample(instances: isl.Set, statement: str) -> str:
    """An instance of a statement in a message, ``P[0,1] with h = 1``."""
    point = instances.sample_point()

    def value(kind: isl.dim_type, position: int) -> str:
        return str(point.get_coordinate_val(kind, position))

    indices = ",".join(value(isl.dim_type.set, i) for i in range(instances.dim(isl.dim_type.set)))
    sizes = ", ".join(
        f"{instances.get_dim_name(isl.dim_type.param, i)} = {value(isl.dim_type.param, i)}"
        for i in range(instances.dim(isl.dim_type.param))
    )
    return f"{statement}[{indices}]{' with ' if sizes else ''}{sizes}"


def first_use(
    program: Program, dependences: Iterable[Dependence], producer: str, target: Loop, at: str
) -> isl.PwMultiAff:
    """Return the map from a producer's instances to the first iteration that reads their values.

    Arguments and errors are those of :func:`iterations_of_use`.
    """
    dependences = list(dependences)
    uses = iterations_of_use(program, dependences, producer, target, at)
    flows = _flows(dependences, producer, target)
    first = _of_first_consumer(program, flows[0], target) if len(flows) == 1 else None
    return isl.PwMultiAff.from_map(uses.lexmin().coalesce()) if first is None else first


def _flows(dependences: Iterable[Dependence], producer: str, target: Loop) -> list[Dependence]:
    """Return the flow dependences from the producer into the loop."""
    consumers = frozenset(statements(target))
    return [
        dependence
        for dependence in dependences
        if dependence.kind is DependenceKind.FLOW
        and dependence.source.statement == producer
        and dependence.sink.statement in consumers
    ]


def _of_first_consumer(program: Program, flow: Dependence, target: Loop) -> isl.PwMultiAff | None:
    """Return the iterations of the lexicographically first consumers.

    None if another consumer runs in an earlier iteration. The pieces of the result are the loops'
    own expressions. The minimum that isl computes is the same function, but may have more pieces.
    """
    consumer = program.statements[flow.sink.statement]
    chosen = isl.PwMultiAff.from_map(flow.relation.lexmin().coalesce())
    around = prefix_loops(program, target)
    for loop in around:
        value = loop.values[consumer.name]
        earlier = value.pullback_pw_multi_aff(chosen).gt_map(value)
        if not flow.relation.intersect(earlier).is_empty():
            return None
    iteration = prefix_function(consumer, around).pullback_pw_multi_aff(chosen)
    producer = program.statements[flow.source.statement]
    iteration = iteration.gist(producer.domain).coalesce()
    for position, index in enumerate(producer.indices):
        iteration = iteration.set_dim_id(isl.dim_type.in_, position, isl.Id(index))
    return iteration


def taken_out(program: Program, producers: frozenset[str]) -> tuple[Node, Node]:
    """Return the tree of some statements, and the tree of all others."""
    nest = restrict(program.tree, producers)
    rest = restrict(program.tree, frozenset(program.statements) - producers)
    assert nest is not None
    assert rest is not None
    return nest, rest


def placed(
    program: Program, nest: Node, rest: Node, target: Loop, iterations: Mapping[str, isl.PwMultiAff]
) -> Node:
    """Return the tree ``rest`` in which ``nest`` runs at the start of each iteration of a loop.

    A loop of the nest counts from 0 in each iteration if its first value there is linear in the
    iteration. A loop with one value per iteration is dropped. A loop whose name is also around the
    target is renamed ``<loop>_inner``.

    Args:
        program: the program with the domains of the nest's statements.
        target: the loop, in the tree before the nest was taken out of it.
        iterations: for each statement of the nest, the map from its instances to the iteration that
            they run in, the tuple of the values of the loops from the outermost to ``target``.
    """
    around = prefix_loops(program, target)
    inner = _renamed(_rebased(program, nest, iterations), frozenset(loop.name for loop in around))
    columns = [
        {name: iteration.get_at(position) for name, iteration in iterations.items()}
        for position in range(len(around))
    ]
    return _inserted(rest, min(statements(target)), columns, inner)


def _rebased(program: Program, node: Node, iterations: Mapping[str, isl.PwMultiAff]) -> Node:
    """Rebase the loops of a nest to their first value within one iteration of the target.

    A loop that the iteration fixes is dropped. A loop with one value in the whole program stays, so
    that a schedule written for all sizes finds it at size 1 too.
    """
    node = map_children(node, lambda child: _rebased(program, child, iterations))
    if not isinstance(node, Loop):
        return node
    lowest = _lowest(program, node.values, iterations)
    counted = replace(node, values=_counted_from(program, node.values, lowest, iterations))
    if is_always_zero(program, counted) and not _is_constant(program, node):
        return node.body
    # isl would lose iterations of a loop rebased to a floor or to several pieces.
    return counted if _is_linear(lowest) else node


def _is_constant(program: Program, loop: Loop) -> bool:
    """Return whether the loop has one value in the whole program."""
    reached = (
        isl.Map.from_pw_aff(value).intersect_domain(program.statements[name].domain).range()
        for name, value in loop.values.items()
    )
    return reduce(isl.Set.union, reached).is_singleton()


def _lowest(
    program: Program, values: Mapping[str, isl.PwAff], iterations: Mapping[str, isl.PwMultiAff]
) -> isl.PwAff:
    """Return the smallest value of a loop in each iteration of the target."""
    columns = (
        isl.Map.from_pw_multi_aff(iterations[name])
        .intersect_domain(program.statements[name].domain)
        .reverse()
        .apply_range(isl.Map.from_pw_aff(value))
        for name, value in values.items()
    )
    return reduce(isl.Map.union, columns).dim_min(0).coalesce()


def _counted_from(
    program: Program,
    values: Mapping[str, isl.PwAff],
    lowest: isl.PwAff,
    iterations: Mapping[str, isl.PwMultiAff],
) -> Mapping[str, isl.PwAff]:
    return {
        name: value.sub(lowest.pullback_pw_multi_aff(iterations[name]))
        .gist(program.statements[name].domain)
        .coalesce()
        for name, value in values.items()
    }


def _is_linear(function: isl.PwAff) -> bool:
    """Return whether the function is one linear expression, without pieces and floors."""
    pieces = function.get_pieces()
    return len(pieces) == 1 and not pieces[0][1].dim(isl.dim_type.div)


def _renamed(node: Node, taken: frozenset[str]) -> Node:
    if isinstance(node, Loop):
        name = node.name
        while name in taken:
            name += "_inner"
        node, taken = replace(node, name=name), taken | {name}
    return map_children(node, lambda child: _renamed(child, taken))


def _inserted(node: Node, consumer: str, columns: list[dict[str, isl.PwAff]], inner: Node) -> Node:
    """Add the producers' values to the loops around the consumer; insert the nest in the last."""
    match node:
        case Loop(values=values, body=body):
            column, *deeper = columns
            return replace(
                node,
                values={**values, **column},
                body=_inserted(body, consumer, deeper, inner)
                if deeper
                else sequence([inner, body]),
            )
        case Sequence(children=children):
            return sequence(
                [
                    _inserted(child, consumer, columns, inner)
                    if consumer in statements(child)
                    else child
                    for child in children
                ]
            )
        case Leaf():
            raise AssertionError("the target loop is on the consumer's path")
