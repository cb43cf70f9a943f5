import numpy as np
import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.semantics.reference import run_reference
from polysched.legality.check import check
from polysched.legality.condition import legality_condition
from polysched.legality.verdicts.verdict import IllegalScheduleError
from polysched.lower import compile
from polysched.schedule.schedule import Schedule


def shifted_copy() -> Kernel:
    """Every element is made of the one ``k`` places before it."""
    build = KernelBuilder("shifted_copy")
    n, k = build.parameter("n", minimum=1), build.parameter("k", minimum=0)
    a = build.inout("a", i32, (n + k,))
    with build.loops(i=n) as i, build.statement("S"):
        a[i + k] = a[i] + 1
    return build.kernel()


def test_vectors_need_a_distance() -> None:
    condition = legality_condition(Schedule(shifted_copy()).vectorize("i", 16))
    assert str(condition) == "16 <= k or k == 0 or n <= k"


def test_reversal_needs_independence() -> None:
    condition = legality_condition(Schedule(shifted_copy()).reverse("i"))
    assert str(condition) == "k == 0 or n <= k"
    assert repr(condition) == "<Condition: k == 0 or n <= k>"


def test_the_condition_is_exact() -> None:
    schedule = Schedule(shifted_copy()).vectorize("i", 4)
    condition = legality_condition(schedule)
    assert condition is not None
    for n in range(1, 9):
        for k in range(9):
            build = KernelBuilder("fixed")
            a = build.inout("a", i32, (n + k,))
            with build.loops(i=n) as i, build.statement("S"):
                a[i + k] = a[i] + 1
            fixed = Schedule(build.kernel()).vectorize("i", 4)
            holds = k >= 4 or k == 0 or n <= k
            assert check(fixed).is_legal == holds
            point = condition.parameters.read_from_str(
                condition.parameters.get_ctx(), f"[n, k] -> {{ : n = {n} and k = {k} }}"
            )
            assert point.is_subset(condition.parameters) == holds


def test_a_legal_schedule_needs_none() -> None:
    assert legality_condition(Schedule(shifted_copy()).split("i", 4)) is None


def test_without_parameters_there_is_none() -> None:
    build = KernelBuilder("prefix")
    a = build.inout("a", i32, (9,))
    with build.loops(i=(1, 9)) as i:
        a[i] = a[i - 1] + a[i]
    assert legality_condition(Schedule(build.kernel()).reverse("i")) is None


def test_illegal_for_all_values() -> None:
    build = KernelBuilder("prefix")
    n = build.parameter("n", minimum=4)
    a = build.inout("a", i32, (n,))
    with build.loops(i=(1, n)) as i:
        a[i] = a[i - 1] + a[i]
    schedule = Schedule(build.kernel()).reverse("i")
    assert legality_condition(schedule) is None
    with pytest.raises(IllegalScheduleError):
        compile(schedule, guard=True)


@pytest.mark.parametrize("k", [0, 1, 3, 4, 16, 17, 40])
def test_a_guarded_kernel_is_right_for_every_value(k: int) -> None:
    kernel = shifted_copy()
    run = compile(Schedule(kernel).vectorize("i", 16), guard=True)
    a = np.arange(37 + k, dtype=np.int32)
    expected = run_reference(kernel, {"a": a}, {"n": 37, "k": k})["a"]
    run(a, n=37, k=k)
    np.testing.assert_array_equal(a, expected)


def test_without_guard_it_is_refused() -> None:
    with pytest.raises(IllegalScheduleError):
        compile(Schedule(shifted_copy()).vectorize("i", 16))


def test_a_condition_on_the_order_says_nothing_where_the_storage_is_wrong() -> None:
    build = KernelBuilder("both")
    n = build.parameter("n", minimum=2)
    a = build.inout("a", i32, (n,))
    t, o = build.temporary("t", i32, (2, 8)), build.output("o", i32, (2, 8))
    with build.loops(x=(1, n)) as x, build.statement("recurrence"):
        a[x] = a[x - 1] + 1
    with build.loops(i=2, k=8) as (i, k):
        with build.statement("S"):
            t[i, k] = 3
        with build.statement("T"):
            o[i, k] = t[i, k // 2]
    backwards = Schedule(build.kernel()).reverse("x")
    assert str(legality_condition(backwards)) == "n == 2"
    assert legality_condition(backwards.promote("t", "i").distribute("k").distribute("i")) is None
