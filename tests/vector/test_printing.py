"""The text of vector programs."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.ir.expr.dtypes import f64
from polysched.ir.expr.expressions import Operand, Parameter
from polysched.loops.ir.nodes import For, If, Prefetch
from polysched.lower import show
from polysched.vector.ir import Prefetch as VectorPrefetch
from polysched.vector.printing import format_statement, print_vectors
from polysched.vector.values import Address, Unit
from tests.loops.programs import assign, load
from tests.vector.programs import after_passes, lanes, only_assign, v, vectorized, x

m = Parameter("m")
CONTEXT = "[m] -> { : 0 <= m <= 8 }"


def test_a_program() -> None:
    build = ps.KernelBuilder("scale")
    n = build.parameter("n", minimum=1)
    given, made = build.input("x", ps.f32, (n,)), build.output("y", ps.f32, (n,))
    with build.loops(i=n) as i:
        made[i] = 2 * given[i]
    text = show(ps.Schedule(build.kernel()).vectorize("i", 16), "vector", "sapphirerapids")
    head, body = text.split("\n\n")
    assert head.startswith("program scale\nparameters n with n >= 1\n")
    assert body == (
        "for i in 0..(n//16):\n"
        "  vector 16: contiguous(y[16*i]) = 2*contiguous(x[16*i])\n"
        "if n//16 < (n + 15)//16:\n"
        "  vector 16 lanes 0..(n - 16*(n//16)) if any: "
        "contiguous(y[16*(n//16)]) = 2*contiguous(x[16*(n//16)])\n"
    )


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (3, "x[3]"),
        (v + 1, "contiguous(x[1])"),
        (9 - v, "reversed(x[2])"),
        (2 * v + 1, "strided(x[1], 2)"),
        (v // 4, "offsets(x[0], [0, 0, 0, 0, 1, 1, 1, 1])"),
        (load("x", v), "gather(x[contiguous(x[0])])"),
    ],
)
def test_movements(place: Operand, text: str) -> None:
    made = vectorized(lanes(0, 8, assign("y", (v,), x(place))))
    assert format_statement(only_assign(made)) == f"vector 8: contiguous(y[0]) = {text}"


@pytest.mark.parametrize(
    ("node", "head"),
    [
        (lanes(0, 5, assign("y", (v,), x(0))), "vector 8 lanes 0..5: "),
        (lanes(0, 8, assign("y", (v,), x(0)), step=3), "vector 8 lanes {0, 3, 6}: "),
        (lanes(1, m, assign("y", (v,), x(0))), "vector 8 lanes 1..m if any: "),
        (
            lanes(0, 5, If(v < m, assign("y", (v,), x(0)))),
            "vector 8 lanes 0..5 where lane < m if any: ",
        ),
    ],
)
def test_lanes(node: For, head: str) -> None:
    made = only_assign(vectorized(node, context=CONTEXT))
    assert format_statement(made) == f"{head}contiguous(y[0]) = x[0]"


def test_shuffles_and_windows() -> None:
    sums = load("x", v, dtype=f64) + load("x", v + 1, dtype=f64) + load("x", 2 * v, dtype=f64)
    text = print_vectors(after_passes(lanes(0, 8, assign("y", (v,), sums)), dtype=f64))
    assert text.endswith(
        "contiguous(y[0]) = contiguous(x[0])"
        " + shuffle(contiguous(x[0]), first(x[8]), [1, 2, 3, 4, 5, 6, 7, 8])"
        " + window(x[0], [0, 2, 4, 6, 8, 10, 12, 14])\n"
    )


def test_prefetches_and_units() -> None:
    assert Prefetch("x", (), (), 1).level == 1
    address = Address("x", ((m, 3),), 1, ((0, v),), unit=Unit.BYTE, phase=4)
    line = format_statement(VectorPrefetch(address, 2))
    assert line == "prefetch x[byte 3*m + v*x.stride0 + 1 bit 4] to level 2"
