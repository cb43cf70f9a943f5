import islpy as isl
import pytest

from polysched.errors import KernelError, ScheduleError
from polysched.ir.core import limits
from polysched.ir.core.limits import limited


def test_what_isl_does_is_passed_on() -> None:
    with limited(KernelError, "this is too much"):
        assert isl.Set("{ [i] : 0 <= i < 3 }").count_val().to_python() == 3


def test_a_function() -> None:
    @limited(KernelError, "this is too much")
    def double(number: int) -> int:
        return 2 * number

    assert double(2) == double(2) == 4


def test_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DECLARATION_QUOTA", 10)
    with (
        pytest.raises(ScheduleError, match="too much: isl needs too long; make bounds, conditions"),
        limited(ScheduleError, "too much"),
    ):
        isl.Set("{ [i, j, k] : 3 i < 5 j + k and 7 j > 2 i and k mod 5 = i mod 7 }").is_empty()


def test_an_error_of_isl() -> None:
    with (
        pytest.raises(KernelError, match="this is wrong: .*syntax error"),
        limited(KernelError, "this is wrong"),
    ):
        isl.Set("{ [i")


def test_an_error_of_ours_stays() -> None:
    with pytest.raises(ScheduleError, match="^mine$"), limited(KernelError, "this is too much"):
        raise ScheduleError("mine")
