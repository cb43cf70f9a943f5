import pytest

from polysched.errors import CallError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.loops.verify.declared_flow import declared_flow
from tests.support import kernels


def test_every_read_has_the_last_writer() -> None:
    flow = declared_flow(kernels.prefix(), {"n": 3})
    texts = {
        instance: [flow.sources.text(source) for source in seen]
        for (name, instance), seen in flow.reads.items()
        if name == "S"
    }
    assert texts == {
        (1,): ["first[]", "the caller's a[1]"],
        (2,): ["S[1]", "the caller's a[2]"],
    }
    assert [flow.sources.text(source) for source in flow.results["s"].tolist()] == [
        "first[]",
        "S[1]",
        "S[2]",
    ]


def test_free_reductions_leave_sets_and_exact_ones_the_last_writer() -> None:
    for order, expected in (
        ("any", "{update[0, 0, 0], update[0, 0, 1], update[0, 0, 2]} on init[0, 0]"),
        ("exact", "update[0, 0, 2]"),
    ):
        flow = declared_flow(kernels.matmul(order=order), {"m": 1, "n": 1, "k": 3})
        assert flow.sources.text(int(flow.results["c"][0, 0])) == expected


def test_parameters_are_checked() -> None:
    with pytest.raises(CallError, match="n = 0 violates n >= 1"):
        declared_flow(kernels.prefix(), {"n": 0})


def test_what_nobody_wrote_is_undefined() -> None:
    build = KernelBuilder("undefined")
    t, y = build.temporary("t", i32, (2,)), build.output("y", i32, (2,))
    with build.loops(i=2) as i, build.statement("S"):
        y[i] = t[i]
    flow = declared_flow(build.kernel(), {})
    assert {flow.sources.text(*seen) for seen in flow.reads.values()} == {"undefined contents"}
