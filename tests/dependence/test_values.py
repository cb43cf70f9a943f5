from collections import defaultdict
from collections.abc import Mapping
from random import Random

import islpy as isl
import pytest

from polysched.dependence.memory import memory_dependences
from polysched.dependence.relations import Dependence, Reference
from polysched.dependence.values import contributions, overwritten, root_flows, value_flows
from polysched.fuzz.judge.subject import LARGEST_SIZE
from polysched.ir.core.kernel import Kernel, Order, Statement
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.semantics.points import evaluate_many, points
from polysched.ir.semantics.reference import instances
from tests.support import kernels
from tests.support.random_schedules import random_kernel

Pair = tuple[Reference, tuple[int, ...], Reference, tuple[int, ...]]


def pairs(flows: tuple[Dependence, ...], parameters: Mapping[str, int]) -> set[Pair]:
    """All pairs of the records, listed."""
    found: set[Pair] = set()
    for flow in flows:
        length = flow.relation.dim(isl.dim_type.in_)
        for row in points(flow.relation.wrap().flatten(), parameters).tolist():
            found.add((flow.source, tuple(row[:length]), flow.sink, tuple(row[length:])))
    return found


def enumerated(kernel: Kernel, parameters: Mapping[str, int]) -> set[Pair]:
    """The same pairs, found by running through the program.

    An earlier write may be seen unless some write between ends it, for which nobody may be of one
    reduction that is free in its order: not the two writes, and not the later one and the read.
    """
    writes: dict[tuple[str, tuple[int, ...]], list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
    found: set[Pair] = set()
    for name, instance in instances(kernel, parameters):
        statement = kernel.statements[name]
        variables = {**parameters, **dict(zip(statement.indices, instance, strict=True))}
        reduction = statement.reduction
        is_free = reduction is not None and reduction.order is Order.ANY
        elements = [
            (access.array, tuple(int(evaluate_many(one, variables)) for one in access.subscripts))
            for access in statement.accesses
        ]
        for position, element in list(enumerate(elements))[1:]:
            later: list[str] = []
            own = is_free and reduction is not None and position == reduction.read
            for writer, at in reversed(writes[element]):
                ending = [two for two in later if not (own and two == name)]
                free = {one for one, kept in kernel.statements.items() if _is_free(kept)}
                if all(two == writer and two in free for two in ending):
                    found.add((Reference(writer, 0), at, Reference(name, position), instance))
                later.append(writer)
        writes[elements[0]].append((name, instance))
    return found


def _is_free(statement: Statement) -> bool:
    return statement.reduction is not None and statement.reduction.order is Order.ANY


def test_a_value_is_overwritten() -> None:
    build = KernelBuilder("twice")
    x, y = build.temporary("x", i32, (8,)), build.output("y", i32, (8,))
    with build.loops(i=8) as i:
        with build.statement("first"):
            x[i] = 1
        with build.statement("second"):
            x[i] = 2
        with build.statement("use"):
            y[i] = x[i]
    dependences = memory_dependences(build.kernel())
    (flow,) = value_flows(dependences)
    assert (flow.source.statement, flow.sink) == ("second", Reference("use", 1))
    lost = next(one for one in dependences if one.source.statement == "first" and one.sink.position)
    assert overwritten(lost, dependences).is_equal(lost.relation)


def test_the_last_sweep_alone() -> None:
    dependences = memory_dependences(kernels.jacobi())
    flows = {(flow.source.statement, flow.sink): flow.relation for flow in value_flows(dependences)}
    into_there = flows["back", Reference("there", 2)]
    expected = isl.Map(
        "[t, n] -> { back[s, i] -> there[s + 1, i] : 0 <= s < t - 1 and 1 <= i < n - 1 }"
    )
    assert into_there.is_equal(expected)
    assert all(relation.is_injective() for relation in flows.values())


def test_a_reduction_free_in_its_order_keeps_its_pairs() -> None:
    free = value_flows(memory_dependences(kernels.matmul(order="any")))
    exact = value_flows(memory_dependences(kernels.matmul(order="exact")))
    within = [
        next(flow.relation for flow in flows if flow.source == Reference("update", 0))
        for flows in (free, exact)
    ]
    assert within[1].is_strict_subset(within[0])
    assert any(flow.reorderable for flow in free)
    init = [
        next(flow.relation for flow in flows if flow.source == Reference("init", 0))
        for flows in (free, exact)
    ]
    assert init[1].is_strict_subset(init[0])


@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_against_enumeration(seed: int) -> None:
    kernel = random_kernel(Random(seed).randint)
    flows = value_flows(memory_dependences(kernel))
    for size in range(1, LARGEST_SIZE + 1):
        parameters = dict.fromkeys(kernel.parameters, size)
        assert pairs(flows, parameters) == enumerated(kernel, parameters)


def test_every_read_has_one_writer_at_most() -> None:
    kernel = kernels.seidel_plane(3, 5, 5)
    found = pairs(value_flows(memory_dependences(kernel)), {})
    reads = {(sink, at) for _, _, sink, at in found}
    assert len(reads) == len(found) > 0


def enumerated_parts(
    kernel: Kernel, array: str, parameters: Mapping[str, int]
) -> tuple[set[Pair], set[Pair]]:
    """The pairs of roots and reads of an array, and of all writes that had a part in what is read,
    found by running through the program.
    """
    parts: dict[tuple[int, ...], list[tuple[str, tuple[int, ...]]]] = {}
    roots: set[Pair] = set()
    contributing: set[Pair] = set()
    for name, instance in instances(kernel, parameters):
        statement = kernel.statements[name]
        variables = {**parameters, **dict(zip(statement.indices, instance, strict=True))}
        elements = [
            tuple(int(evaluate_many(one, variables)) for one in access.subscripts)
            for access in statement.accesses
        ]
        carries = False
        for position, access in enumerate(statement.reads, 1):
            if access.array != array:
                continue
            known = parts.get(elements[position], [])
            here = [
                (Reference(writer, 0), at, Reference(name, position), instance)
                for writer, at in known
            ]
            roots.update(here[:1])
            contributing.update(here)
            carries |= statement.target.array == array and elements[position] == elements[0]
        if statement.target.array == array:
            if not carries:
                parts[elements[0]] = []
            parts.setdefault(elements[0], []).append((name, instance))
    return roots, contributing


@pytest.mark.parametrize("seed", range(60))
def test_parts_of_values_against_enumeration(seed: int) -> None:
    kernel = random_kernel(Random(seed).randint)
    dependences = memory_dependences(kernel)
    size = dict.fromkeys(kernel.parameters, LARGEST_SIZE)
    for array in {statement.target.array for statement in kernel.statements.values()}:
        roots, parts = enumerated_parts(kernel, array, size)
        assert pairs(root_flows(array, kernel.statements, dependences), size) == roots
        assert pairs(contributions(array, kernel.statements, dependences), size) == parts


def test_what_may_be_overwritten_still_counts() -> None:
    """A write that may go elsewhere ends no value; a write that is certain does."""
    build = KernelBuilder("scatter")
    index = build.input("index", i32, (4,), values=(0, 8))
    x, y = build.temporary("x", i32, (8,)), build.output("y", i32, (8,))
    with build.loops(i=8) as i, build.statement("first"):
        x[i] = 1
    with build.loops(i=4) as i, build.statement("scattered"):
        x[index[i]] = 2
    with build.loops(i=8) as i, build.statement("use"):
        y[i] = x[i]
    writers = {
        flow.source.statement: flow.relation
        for flow in value_flows(memory_dependences(build.kernel()))
    }
    assert set(writers) == {"first", "scattered"}
    assert writers["first"].range().is_equal(isl.Set("{ use[i] : 0 <= i < 8 }"))
