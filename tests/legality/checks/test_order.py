"""The walk over the tree: where pairs break, and which of them."""

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.ir.core.tree import Leaf, Loop, LoopKind, Sequence, executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.checks.order import Pairs, breaks, merged, order_violation
from polysched.legality.verdicts.verdict import Cause, Violation
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul, seidel


def loop_over(first: str, second: str, kind: LoopKind = LoopKind.SEQUENTIAL) -> Loop:
    values = {"S": isl.PwAff(first), "T": isl.PwAff(second)}
    return Loop("x", values, Sequence((Leaf("S"), Leaf("T"))), kind)


def pairs(relation: str, *, reorderable: bool = False) -> Pairs:
    return Pairs("S", "T", isl.Map(relation), reorderable)


NEXT = "{ S[i] -> T[j] : 0 <= i < 9 and j = i + 1 }"
SAME = "{ S[i] -> T[i] : 0 <= i < 9 }"
FORWARD = loop_over("{ S[i] -> [i] }", "{ T[i] -> [i] }")
BACKWARD = loop_over("{ S[i] -> [-i] }", "{ T[i] -> [-i] }")


def test_kept_by_the_loop() -> None:
    assert not list(breaks(FORWARD, pairs(NEXT)))


def test_kept_by_the_sequence() -> None:
    assert not list(breaks(FORWARD, pairs(SAME)))
    assert not list(breaks(BACKWARD, pairs(SAME)))


def test_broken_by_the_loop() -> None:
    (broken,) = breaks(BACKWARD, pairs(NEXT))
    assert (broken.cause, broken.loop) == (Cause.LOOP, "x")
    assert broken.relation.is_equal(isl.Map(NEXT))


def test_broken_by_the_sequence() -> None:
    turned = Loop("x", FORWARD.values, Sequence((Leaf("T"), Leaf("S"))))
    (broken,) = breaks(turned, pairs(SAME))
    assert (broken.cause, broken.loop) == (Cause.SEQUENCE, None)
    assert not list(breaks(turned, pairs(NEXT)))


def test_only_the_pairs_that_break_are_named() -> None:
    mirrored = loop_over("{ S[i] -> [i] }", "{ T[i] -> [8 - i] }")
    (broken,) = breaks(mirrored, pairs(SAME))
    assert broken.relation.is_equal(isl.Map("{ S[i] -> T[i] : 5 <= i < 9 }"))


def test_free_pairs_may_be_turned_but_not_run_together() -> None:
    assert not list(breaks(BACKWARD, pairs(NEXT, reorderable=True)))
    vector = Loop("x", {"S": isl.PwAff("{ S[i] -> [i] }")}, Leaf("S"), LoopKind.VECTOR, 16)
    update = Pairs("S", "S", isl.Map("{ S[i] -> S[i + 1] : 0 <= i < 9 }"), reorderable=True)
    (broken,) = breaks(vector, update)
    assert broken.cause is Cause.REDUCTION_LANES


def test_lanes_read_before_they_write() -> None:
    vector = Loop("x", {"S": isl.PwAff("{ S[i] -> [-i] }")}, Leaf("S"), LoopKind.VECTOR, 16)
    relation = isl.Map("{ S[i] -> S[i + 1] : 0 <= i < 9 }")
    assert not list(breaks(vector, Pairs("S", "S", relation, reads_first=True)))
    (broken,) = breaks(vector, Pairs("S", "S", relation))
    assert broken.cause is Cause.LANES


def test_the_same_time_is_never_in_order() -> None:
    still = Loop("x", {"S": isl.PwAff("{ S[i] -> [0] }")}, Leaf("S"))
    (broken,) = breaks(still, Pairs("S", "S", isl.Map("{ S[0] -> S[1] }"), reorderable=True))
    assert broken.cause is Cause.SAME_TIME


def test_dependences_of_one_kind_are_united() -> None:
    def dependence(kind: DependenceKind, relation: str, *, free: bool = False) -> Dependence:
        ends = Reference("S", 0), Reference("S", 1)
        return Dependence(kind, "A", *ends, isl.Map(relation), free)

    found = merged(
        [
            dependence(DependenceKind.FLOW, "{ S[0] -> S[1] }"),
            dependence(DependenceKind.OUTPUT, "{ S[0] -> S[2] }"),
            dependence(DependenceKind.ANTI, "{ S[0] -> S[3] }"),
            dependence(DependenceKind.ANTI, "{ S[0] -> S[4] }", free=True),
        ]
    )
    assert [(one.reorderable, one.reads_first) for one in found] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert found[0].relation.is_equal(isl.Map("{ S[0] -> S[j] : 1 <= j <= 2 }"))


def shown(schedule: Schedule) -> Violation | None:
    return order_violation(schedule.program, executed(schedule.program.tree))


def test_none_if_all_is_kept() -> None:
    assert shown(Schedule(seidel())) is None


def test_flow_before_output_and_anti() -> None:
    violation = shown(Schedule(matmul()).reverse("k"))
    assert violation is not None
    assert violation.dependence is DependenceKind.FLOW
    assert violation.witness.parameters == (("N", 2),)


def test_smaller_parameters_before_the_kind() -> None:
    """The flow over seven iterations needs N = 8, the overwriting before a read shows at N = 2."""
    build = KernelBuilder("far")
    n = build.parameter("N", minimum=1)
    a, b = build.inout("A", i32, (n + 7,)), build.inout("B", i32, (n + 1,))
    with build.loops(i=n) as i:
        with build.statement("S"):
            a[i + 7] = a[i]
        with build.statement("T"):
            b[i] = b[i + 1]
    violation = shown(Schedule(build.kernel()).reverse("i"))
    assert violation is not None
    assert violation.dependence is DependenceKind.ANTI
    assert violation.witness.parameters == (("N", 2),)


def test_the_witness_is_the_first_pair() -> None:
    violation = shown(Schedule(seidel()).reverse("i"))
    assert violation is not None
    assert violation.witness.source.name == "S[0,1]"
    assert violation.witness.sink is not None
    assert violation.witness.sink.name == "S[0,2]"
