"""Dependences of a scheduled program, analyzed as if the program had been declared."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polysched.dependence.memory import memory_dependences
from polysched.dependence.relations import Dependence
from polysched.ir.core.kernel import Kernel
from polysched.schedule.core.program import Program


def as_declared(program: Program) -> Kernel:
    """The program as a kernel of its own; the elements of a buffer are told apart by tile."""
    kernel = program.kernel
    return Kernel(
        kernel.name,
        kernel.parameters,
        kernel.context,
        program.arrays,
        program.statements,
        program.tree,
    )


def assert_dependences_are_those_of_a_new_analysis(program: Program) -> None:
    """Fail unless the translated dependences equal a new analysis of the scheduled program.

    The program must keep the order that it was declared with. Which of two instances of a free
    reduction comes first does not matter.
    """
    analyzed = memory_dependences(as_declared(program))
    context = program.kernel.context
    for reorderable in (False, True):
        got = _pairs(program.dependences, reorderable=reorderable)
        wanted = _pairs(analyzed, reorderable=reorderable)
        for key in got.keys() | wanted.keys():
            left, right = got.get(key), wanted.get(key)
            assert left is not None, f"missing: {key} {right}"
            assert right is not None, f"invented: {key} {left}"
            assert left.intersect_params(context).is_equal(right.intersect_params(context)), (
                f"{key}: {left} instead of {right}"
            )


def _pairs(
    dependences: Iterable[Dependence], *, reorderable: bool
) -> dict[tuple[str, str, str], isl.Map]:
    relations: dict[tuple[str, str, str], isl.Map] = {}
    for dependence in dependences:
        if dependence.reorderable is not reorderable:
            continue
        relation = dependence.relation
        if reorderable:
            relation = relation.union(relation.reverse())
        key = (dependence.array, dependence.source.statement, dependence.sink.statement)
        relations[key] = relations[key].union(relation) if key in relations else relation
    return {key: pairs for key, pairs in relations.items() if not pairs.is_empty()}
