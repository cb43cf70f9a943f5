"""Arrays that the schedule streams need vectors of neighbors."""

from dataclasses import replace

import pytest

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.expr.expressions import Index
from polysched.loops.ir.nodes import For, LoopNode, LoopProgram
from polysched.vector.passes.vectorize import vectorize
from tests.loops.programs import array, assign, load, loop, program, vector
from tests.vector.programs import AVX512

v, j = Index("v"), Index("j")


def lanes(body: LoopNode, count: int = 8) -> For:
    return replace(vector("v", 0, count, body), lanes=count)


def streaming(*body: LoopNode) -> LoopProgram:
    y = replace(array("y", (64, 64), Role.OUTPUT), streamed=True)
    return program([array("x", (64, 64), Role.INPUT), y], *body, context="{ : }")


@pytest.mark.parametrize("row", [3, j])
def test_vectors_of_neighbors(row: int | Index) -> None:
    stored = lanes(assign("y", (row, v + 8), load("x", v, 0)))
    vectorize(streaming(loop("j", 0, 8, stored)), AVX512)


def test_an_array_that_nothing_writes() -> None:
    vectorize(streaming(), AVX512)


@pytest.mark.parametrize(
    "body",
    [
        loop("j", 0, 8, assign("y", (0, j), load("x", j, 0))),
        lanes(assign("y", (v, 0), load("x", v, 0))),
        lanes(assign("y", (v, v), load("x", v, 0))),
        lanes(assign("y", (0, 2 * v), load("x", v, 0))),
        lanes(assign("y", (0, v), load("x", v, 0)), count=2),
    ],
)
def test_others(body: LoopNode) -> None:
    with pytest.raises(LoweringError) as caught:
        vectorize(streaming(body), AVX512)
    assert str(caught.value) == (
        "array 'y' is to be streamed, but no vector loop writes neighboring elements of it, at "
        "least 16 bytes at a time: vectorize the loop over them, or remove the stream step"
    )
