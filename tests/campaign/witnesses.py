"""Verdicts judged by this campaign's own model: witnesses, conditions, accepted orders."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from tests.campaign.description import Program, is_free_reduction, loads, reads, statements
from tests.campaign.executing import Instance, Oracle, TooLong
from tests.campaign.orders import Node, Times, breaks, broken, declared

_PAIRS = 900
"""Instances at most of a program whose pairs are all looked at."""


def grids(program: Program, largest: int) -> Iterator[dict[str, int]]:
    """Small values of the parameters."""
    names = [one.name for one in program.params]
    spans = [range(one.minimum, largest + 1) for one in program.params]
    for values in itertools.product(*spans):
        yield dict(zip(names, values, strict=True))


def depends_on_data(program: Program) -> bool:
    return any(
        any(True for part in (*one.subscripts, *one.value.children()) for _ in _inner(part))
        for one in statements(program.body)
    ) or any(array.values is not None for array in program.arrays)


def _inner(expression: Any) -> Iterator[Any]:
    for load in loads(expression):
        for subscript in load.children():
            yield from loads(subscript)


def judge(program: Program, oracle: Oracle, tree: Node, sizes: Mapping[str, int]) -> bool | None:
    """Whether an order keeps all dependences at these sizes; None if they are too large."""
    try:
        instances = oracle.instances(sizes, _PAIRS)
    except TooLong:
        return None
    return broken(program, tree, oracle, instances) is None


def accepted_fault(program: Program, oracle: Oracle, tree: Node) -> str | None:
    """What is wrong with an order that was accepted."""
    largest = {0: 0, 1: 11, 2: 6}[len(program.params)]
    for sizes in grids(program, largest):
        try:
            instances = oracle.instances(sizes, _PAIRS)
        except TooLong:
            continue
        found = broken(program, tree, oracle, instances)
        if found is not None:
            return (
                f"accepted, but at {sizes} breaks a {found.kind} dependence on {found.array}: "
                f"{found.first} before {found.second}"
            )
    return None


class WitnessFault(Exception):
    """The witness of a refusal is false."""


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise WitnessFault(what)


_ORDERS = ("order", "vector", "parallel")


def check_witness(program: Program, oracle: Oracle, tree: Node | None, violation: Any) -> None:
    """Check every number of a witness against the description of the program.

    Args:
        tree: the order after the schedule; None where it is not modeled.

    Raises:
        WitnessFault: something is not as it says.
    """
    witness = violation.witness
    sizes = dict(witness.parameters)
    _require(sizes.keys() == {one.name for one in program.params}, f"parameters are {sizes}")
    for one in program.params:
        _require(sizes[one.name] >= one.minimum, f"{one.name} is below its minimum")
    own = {one.name: one for one in statements(program.body)}
    before = Times(declared(program), oracle.indices)
    after = None if tree is None else Times(tree, oracle.indices)
    ends = [end for end in (witness.source, witness.sink) if end is not None]
    for end in ends:
        if (
            end.statement not in own
            or end.tile
            or len(end.instance) != len(oracle.indices[end.statement])
        ):
            _require(tree is None, f"{end.name} is no instance of the program")
            continue
        _check_end(program, oracle, sizes, end, before, after)
    if tree is None or violation.kind.value not in _ORDERS or witness.sink is None:
        return
    source, sink = ends
    if violation.cause.name == "SHARED_BYTE":
        return
    _require(source.touched == sink.touched, "the ends touch different elements")
    first, second = (before.stamp(one.statement, one.instance) for one in ends)
    _require(_earlier(first, second), f"{source.name} does not run before {sink.name}")
    kind = violation.dependence.value
    actions = {"flow": ("writes", "reads"), "anti": ("reads", "writes")}
    _require(
        (source.action, sink.action) == actions.get(kind, ("writes", "writes")),
        f"a {kind} dependence {source.action} and {sink.action}",
    )
    free = source.statement == sink.statement and is_free_reduction(own[source.statement])
    assert after is not None
    stamps = [after.stamp(one.statement, one.instance) for one in ends]
    _require(
        breaks(*stamps, kind=kind, free=free and own[source.statement].array == violation.array),
        f"{source.name} still runs before {sink.name}: {stamps}",
    )


def _earlier(first: Any, second: Any) -> bool:
    for (*_, one), (*_, other) in zip(first, second, strict=False):
        if one != other:
            return bool(one < other)
    return False


def _check_end(
    program: Program,
    oracle: Oracle,
    sizes: Mapping[str, int],
    end: Any,
    before: Times,
    after: Times | None,
) -> None:
    _require(
        oracle.exists(end.statement, sizes, end.instance) or end.action == "runs",
        f"{end.name} does not exist",
    )
    shown = before.shown(end.statement, end.instance)
    _require(end.old is None or end.old == shown, f"{end.name} was at {shown}, not {end.old}")
    if after is not None and end.new is not None:
        moved = after.shown(end.statement, end.instance)
        _require(end.new == moved, f"{end.name} is at {moved} now, not {end.new}")
    if end.array is None or end.depends_on or end.array not in {a.name for a in program.arrays}:
        return
    places = touched(program, oracle, end.statement, sizes, end.instance)
    wanted = (end.array, end.element)
    known = [places.write] if end.action == "writes" else places.reads
    _require(wanted in known, f"{end.name} {end.action} {known}, not {wanted}")


def touched(
    program: Program,
    oracle: Oracle,
    statement: str,
    sizes: Mapping[str, int],
    point: tuple[int, ...],
) -> Instance:
    """What one instance writes and reads."""
    one = next(s for s in statements(program.body) if s.name == statement)
    env = {**sizes, **dict(zip(oracle.indices[statement], point, strict=True))}

    def place(array: str, subscripts: Any) -> tuple[str, tuple[int, ...]]:
        if any(True for subscript in subscripts for _ in loads(subscript)):
            return array, ()
        return array, tuple(oracle.number(subscript, env) for subscript in subscripts)

    return Instance(
        statement,
        point,
        place(one.array, one.subscripts),
        tuple(place(str(load.args[0]), load.children()) for load in reads(one)),
    )


def condition_fault(
    program: Program, oracle: Oracle, tree: Node, condition: str, limit: int = 40
) -> str | None:
    """Where a condition and the judgment of all pairs differ."""
    largest = {1: 12, 2: 7}[len(program.params)]
    python = condition.replace("mod", "%")
    for count, sizes in enumerate(
        sorted(grids(program, largest), key=lambda one: -sum(one.values()))
    ):
        if count >= limit and count % 3:
            continue
        right = judge(program, oracle, tree, sizes)
        if right is None:
            continue
        stated = bool(eval(python, {"min": min, "max": max}, sizes))
        if stated != right:
            return f"condition {condition!r} is {stated} at {sizes}, but the order is {right}"
    return None
