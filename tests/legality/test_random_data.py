"""Random programs whose subscripts depend on data: what is accepted computes the same thing."""

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel, Role
from polysched.ir.core.tree import loops
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Expression
from polysched.ir.semantics.reference import run_reference
from polysched.legality.check import check
from polysched.loops.interpret.execution import shuffled
from polysched.lower import lower
from polysched.schedule.schedule import Schedule
from tests.support.differential import in_registers
from tests.support.effort import cases
from tests.support.interpreting import interpret

EXTENT = 5


def _subscript(
    draw: st.DrawFn, indices: list[Expression], p: ArrayHandle, q: ArrayHandle
) -> Expression:
    one, other = draw(st.sampled_from(indices)), draw(st.sampled_from(indices))
    return draw(st.sampled_from([one, other, p[one], q[one, other], p[p[one]]]))


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    """One or two nests of depth two that write a vector, a matrix and a temporary vector."""
    build = KernelBuilder("random")
    p = build.input("p", i32, (EXTENT,), values=(0, EXTENT))
    q = build.input("q", i32, (EXTENT, EXTENT), values=(0, EXTENT))
    a = build.input("a", i32, (EXTENT, EXTENT))
    x, z = build.inout("x", i32, (EXTENT,)), build.inout("z", i32, (EXTENT, EXTENT))
    t = build.temporary("t", i32, (EXTENT,))

    def statement(name: str, indices: list[Expression]) -> None:
        def place(array: ArrayHandle) -> tuple[Expression, ...]:
            return tuple(_subscript(draw, indices, p, q) for _ in array.array.shape)

        target, source = draw(st.sampled_from([x, z, t])), draw(st.sampled_from([x, z, t]))
        where, added = place(target), a[indices[0], indices[-1]]
        order = draw(st.sampled_from([None, "any", "exact"]))
        with build.statement(name, order=order or "exact"):
            if order is None:
                target[where] = source[place(source)] + added
            else:
                target[where] = target[where] + added

    with build.loops(j=EXTENT) as j, build.statement("T"):
        t[j] = a[j, 0]
    for nest in range(draw(st.integers(1, 2))):
        with build.loops(**{f"i{nest}": EXTENT}) as i:
            if draw(st.booleans()):
                statement(f"A{nest}", [i])
            with build.loops(**{f"k{nest}": EXTENT}) as k:
                for number in range(draw(st.integers(1, 2))):
                    statement(f"B{nest}{number}", [i, k])
    return build.kernel()


_STEPS: list[Callable[[Schedule, str, str, str, str], Schedule]] = [
    lambda s, one, other, array, name: s.split(one, 2),
    lambda s, one, other, array, name: s.reverse(one),
    lambda s, one, other, array, name: s.reorder(one, other),
    lambda s, one, other, array, name: s.distribute(one),
    lambda s, one, other, array, name: s.fuse(one, other),
    lambda s, one, other, array, name: s.vectorize(one, 4),
    lambda s, one, other, array, name: s.parallel(one),
    lambda s, one, other, array, name: s.unroll(one),
    lambda s, one, other, array, name: s.pack(array, one),
    lambda s, one, other, array, name: s.promote(array, one),
    lambda s, one, other, array, name: s.privatize(array, one),
    lambda s, one, other, array, name: s.compute_at(name, one),
    lambda s, one, other, array, name: s.rfactor(name, one),
]


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Random steps; those that cannot be applied are left out."""
    schedule = Schedule(draw(kernels()))
    for _ in range(draw(st.integers(1, 5))):
        names = [loop.name for loop in loops(schedule.program.tree)]
        step = draw(st.sampled_from(_STEPS))
        try:
            schedule = step(
                schedule,
                draw(st.sampled_from(names)),
                draw(st.sampled_from(names)),
                draw(st.sampled_from(list(schedule.program.arrays))),
                draw(st.sampled_from(list(schedule.program.statements))),
            )
        except ScheduleError:
            continue
    return schedule


@settings(max_examples=cases(12))
@given(schedules(), st.integers(0, 2**32 - 1))
def test_accepted_schedules_compute_what_the_kernel_does(schedule: Schedule, seed: int) -> None:
    if not check(schedule).is_legal:
        return
    generator = np.random.default_rng(seed)
    arrays = {
        name: generator.integers(0, EXTENT, (EXTENT,) * len(array.shape)).astype(np.int32)
        for name, array in schedule.kernel.arrays.items()
        if array.role is not Role.TEMPORARY
    }
    expected = run_reference(schedule.kernel, arrays, {})
    program = lower(schedule)
    for loops_run in (program, in_registers(program)):
        got = interpret(loops_run, arrays, {}, order=shuffled(seed))
        for name, array in expected.items():
            np.testing.assert_array_equal(got[name], array, err_msg=schedule.trace())


def test_some_random_schedules_are_accepted_and_some_refused_for_their_data() -> None:
    verdicts = []

    @settings(max_examples=30, database=None, derandomize=True)
    @given(schedules())
    def judge(schedule: Schedule) -> None:
        verdicts.append(check(schedule))

    judge()
    assert any(verdict.is_legal for verdict in verdicts)
    assert any(
        not one.violation.in_kernel and one.violation.witness.depends_on
        for one in verdicts
        if one.violation is not None
    )
