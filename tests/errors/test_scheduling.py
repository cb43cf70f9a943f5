"""What a wrong schedule says."""

from collections.abc import Callable

import pytest

import polysched as ps
from polysched.schedule.split import Split
from tests.support import kernels


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            lambda s: s.split("i", 2**63),
            r"split('i') is 9223372036854775808; expected at most 2**4",
        ),
        (lambda s: s.split("i", True), "the factor of split('i') is True; expected a positive int"),
        (lambda s: s.split(None, 4), "None of type NoneType is no loop's name; expected 'loop' or"),
        (lambda s: s.split("i", 4, into=("a", "b", "c")), "into=('a', 'b', 'c') must be the names"),
        (lambda s: s.split("i", 4, into="ab"), "into='ab' must be the names of the outer and the"),
        (lambda s: s.split("i", 4, into=(1, 2)), "loop name 1 is not an identifier"),
        (lambda s: s.shift("i", 2**70), "shift('i') is 1180591620717411303424; expected at most"),
        (lambda s: s.shift("i", 1.5), "the amount of shift('i') is 1.5; expected an integer"),
        (lambda s: s.skew("i", "i", 2**70), "skew('i') is 1180591620717411303424; expected at mo"),
        (lambda s: s.skew("i", "i", 0), "the factor of skew('i') is 0; expected an integer other"),
        (lambda s: s.unroll("i", factor=2**17), "unroll('i') is 131072; expected at most 1024"),
        (lambda s: s.unroll(), "unroll() names no loop"),
        (lambda s: s.reorder(), "reorder() names no loop"),
        (lambda s: s.reorder(["i"]), "['i'] of type list is no loop's name"),
        (lambda s: s.tile((), ()), "tile() names no loop"),
        (lambda s: s.tile(("i",), 4), "factors=4 must be a tuple"),
        (lambda s: s.tile("i", (4,)), "loops='i' must be a tuple"),
        (lambda s: s.then("split"), "'split' of type str is no step; expected a record such as"),
    ],
)
def test_steps(step: Callable[[ps.Schedule], ps.Schedule], message: str) -> None:
    schedule = ps.Schedule(kernels.scale())
    with pytest.raises(ps.ScheduleError) as raised:
        step(schedule)
    assert message in str(raised.value)


def test_a_schedule_of_something_else() -> None:
    with pytest.raises(ps.ScheduleError, match=r"Schedule\(...\) of a KernelBuilder; expected a K"):
        ps.Schedule(ps.KernelBuilder("k"))  # type: ignore[arg-type]


@pytest.mark.parametrize("judge", [ps.check, ps.compile])
def test_a_kernel_is_no_schedule(judge: Callable[[object], object]) -> None:
    with pytest.raises(ps.ScheduleError, match="expected a Schedule; got a Kernel: a kernel becom"):
        judge(kernels.scale())


def test_a_machine_of_another_type() -> None:
    with pytest.raises(ps.MachineError, match="3 of type int means no machine; expected a preset"):
        ps.compile(ps.Schedule(kernels.scale()), 3)  # type: ignore[arg-type]


def test_a_step_record_is_a_step() -> None:
    schedule = ps.Schedule(kernels.scale())
    assert schedule.then(Split("i", 4)).steps == schedule.split("i", 4).steps
