from dataclasses import replace

import islpy as isl

from polysched.ir.core.kernel import Access, Statement
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.loops.analysis.coverage import miscovered
from polysched.loops.ir.nodes import Assign, For, If, LoopNode, block

INDEX, N = Index("i"), 12


def statement(domain: str) -> dict[str, Statement]:
    made = Statement("S", ("i",), isl.Set(domain), Access("a", (INDEX,)), Constant(1.0))
    return {"S": made}


DOMAIN = statement("{ S[i] : 0 <= i < 12 }")
CONTEXT = isl.Set("{ : }")


def run(value: Expression) -> Assign:
    return Assign("S", (value,), Access("a", (value,)), Constant(1.0))


def loop(lower: Expression | int, upper: Expression | int, body: LoopNode, step: int = 1) -> For:
    ends = [Constant(end) if isinstance(end, int) else end for end in (lower, upper)]
    return For("i", "i", *ends, step, LoopKind.SEQUENTIAL, body)


TILES = isl.Map("{ S[i] -> [floor(i/4), i mod 4] : 0 <= i < 12 }")


def verdict(body: LoopNode) -> str | None:
    """The verdict on loops, which is the same by instances and by the values of two loops."""
    wrong = miscovered(body, DOMAIN, CONTEXT)
    assert miscovered(body, DOMAIN, CONTEXT, {"S": TILES}) == wrong
    return None if wrong is None else f"{wrong.statement}: {wrong.fault}"


def test_one_loop_over_all() -> None:
    assert verdict(loop(0, N, run(INDEX))) is None


def test_parts_that_add_up() -> None:
    assert verdict(block([loop(0, 5, run(INDEX)), loop(5, N, run(INDEX))])) is None
    assert verdict(block([loop(0, N, run(INDEX), 2), loop(1, N, run(INDEX), 2)])) is None
    assert verdict(loop(0, N, If(INDEX < 3, run(INDEX), run(INDEX)))) is None


def test_a_lost_instance() -> None:
    assert verdict(loop(0, N - 1, run(INDEX))) == "S: do not run { S[11] }"
    assert verdict(loop(0, N, If(INDEX < 11, run(INDEX)))) == "S: do not run { S[11] }"


def test_an_instance_too_many() -> None:
    assert verdict(loop(0, N + 1, run(INDEX))) == "S: run { S[12] } as well"


def test_an_instance_run_twice_by_two_loops() -> None:
    assert (
        verdict(block([loop(0, 6, run(INDEX)), loop(5, N, run(INDEX))])) == "S: run { S[5] } twice"
    )


def test_an_instance_run_twice_by_one_loop() -> None:
    twice = loop(0, 2 * N, run(INDEX // 2))
    assert verdict(twice) is not None
    assert "twice" in str(verdict(twice))


def test_a_statement_that_is_nowhere() -> None:
    assert verdict(block([])) is not None
    assert miscovered(block([]), statement("{ S[i] : false }"), CONTEXT) is None


def test_times_that_several_instances_share_prove_nothing() -> None:
    rows = isl.Map("{ S[i] -> [floor(i/4)] : 0 <= i < 12 }")
    lost = miscovered(loop(0, N - 1, run(INDEX)), DOMAIN, CONTEXT, {"S": rows})
    assert lost is not None
    assert lost.fault == "do not run { S[11] }"


def test_literal_bounds_cut_nothing_off() -> None:
    """The interpreter and printed C run what the ends say, written-out copies often less."""
    within = loop(0, N, run(INDEX))
    assert verdict(replace(within, values=(-1, N))) is None
    beyond = "outside of literal bounds"
    assert verdict(replace(loop(0, N + 1, run(INDEX)), values=(0, N - 1))) == (
        f"S: run {{ S[12] }} {beyond}"
    )
    assert verdict(replace(within, values=(1, N))) == f"S: run {{ S[0] }} {beyond}"
