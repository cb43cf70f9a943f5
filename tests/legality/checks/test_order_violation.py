"""Which of many broken dependences is shown."""

from polysched.dependence.relations import DependenceKind
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.checks.order_violation import order_violation
from polysched.legality.verdicts.verdict import Violation
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul, seidel


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
