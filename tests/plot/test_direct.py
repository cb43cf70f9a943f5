"""Direct dependences against running the program and noting who wrote and read what last."""

from collections import defaultdict
from collections.abc import Callable, Mapping

import islpy as isl
import pytest

from polysched.dependence.relations import DependenceKind
from polysched.ir.core.kernel import Kernel
from polysched.ir.semantics.points import evaluate_many
from polysched.ir.semantics.reference import instances
from polysched.plot.direct import direct_pairs
from polysched.schedule.schedule import Schedule
from tests.support.kernels import (
    blur,
    conditions,
    jacobi,
    matmul,
    prefix,
    scalars,
    seidel_plane,
    triangular_solve,
)

Named = tuple[str, tuple[int, ...]]
Pair = tuple[str, Named, Named]


def noted(kernel: Kernel, parameters: Mapping[str, int]) -> set[Pair]:
    """All direct pairs, by running through the program once."""
    writer: dict[object, Named] = {}
    readers: dict[object, list[Named]] = defaultdict(list)
    found: set[Pair] = set()
    for name, instance in instances(kernel, parameters):
        statement, me = kernel.statements[name], (name, instance)
        variables = {**parameters, **dict(zip(statement.indices, instance, strict=True))}
        target, *reads = [
            (access.array, *(int(evaluate_many(one, variables)) for one in access.subscripts))
            for access in statement.accesses
        ]
        found |= {("flow", writer[read], me) for read in reads if read in writer}
        found |= {("anti", reader, me) for reader in readers.pop(target, ())}
        if target in writer:
            found.add(("output", writer[target], me))
        for read in reads:
            readers[read].append(me)
        writer[target] = me
    return found


KERNELS: dict[str, tuple[Callable[[], Kernel], dict[str, int]]] = {
    "prefix": (prefix, {"n": 7}),
    "jacobi": (jacobi, {"t": 3, "n": 6}),
    "seidel_plane": (seidel_plane, {"t": 3, "n": 5, "m": 5}),
    "matmul": (lambda: matmul(order="exact"), {"m": 2, "n": 3, "k": 4}),
    "any order": (matmul, {"m": 2, "n": 3, "k": 4}),
    "triangular_solve": (triangular_solve, {"n": 6}),
    "blur": (blur, {"n": 4, "m": 3}),
    "conditions": (conditions, {"n": 6}),
    "scalars": (scalars, {"n": 4}),
}


def direct(kernel: Kernel, parameters: Mapping[str, int]) -> set[Pair]:
    """The same pairs from the dependences."""
    program = Schedule(kernel).program
    domains = {name: one.domain for name, one in kernel.statements.items()}
    pairs = direct_pairs(program.dependences, kernel.body, kernel.statements, domains, parameters)
    return {
        (
            one.dependence.kind.value,
            (one.dependence.source.statement, tuple(source)),
            (one.dependence.sink.statement, tuple(sink)),
        )
        for one in pairs
        for source, sink in zip(one.sources.tolist(), one.sinks.tolist(), strict=True)
    }


@pytest.mark.parametrize("name", KERNELS)
def test_as_a_run_of_the_program_notes(name: str) -> None:
    make, parameters = KERNELS[name]
    kernel = make()
    expected = noted(kernel, parameters)
    assert expected
    assert direct(kernel, parameters) == expected


def test_only_between_the_given_instances() -> None:
    kernel = seidel_plane(3, 5, 5)
    whole = direct(kernel, {})
    domain = kernel.statements["S"].domain
    first = {"S": domain.fix_val(isl.dim_type.set, 0, isl.Val(1))}
    pairs = direct_pairs(
        Schedule(kernel).program.dependences, kernel.body, kernel.statements, first, {}
    )
    found = {
        (one.dependence.kind.value, ("S", tuple(source)), ("S", tuple(sink)))
        for one in pairs
        for source, sink in zip(one.sources.tolist(), one.sinks.tolist(), strict=True)
    }
    assert found == {pair for pair in whole if pair[1][1][0] == pair[2][1][0] == 1}
    assert found


def test_no_pairs_of_statements_not_wanted() -> None:
    kernel = blur(4, 3)
    domains = {"C": kernel.statements["C"].domain}
    program = Schedule(kernel).program
    assert {one.kind for one in program.dependences} == {DependenceKind.FLOW}
    assert direct_pairs(program.dependences, kernel.body, kernel.statements, domains, {}) == ()
