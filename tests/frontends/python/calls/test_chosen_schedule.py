"""A schedule that one process has found is applied and proved again in the next one."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.autoscheduler import driver
from polysched.frontends.python.calls.chosen_schedule import ScheduleRequest, schedule_request
from polysched.runtime.cache import default_cache
from tests.support.kernels import prefix, scale


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path / "objects"))


def forbid_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: object, **__: object) -> ps.Schedule:
        raise AssertionError("the schedule is searched again")

    monkeypatch.setattr(driver, "optimize_schedule", search)


def request(kernel: ps.Kernel | None = None) -> ScheduleRequest:
    return schedule_request(kernel or scale(), threads=1, sizes={"n": 1000})


def test_stored_steps_are_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = request().schedule()
    assert first.optimized is not None
    forbid_search(monkeypatch)
    again = request().schedule()
    assert again.steps == first.steps
    assert len(again.steps) > 0
    assert again.optimized is None
    assert again.check().is_legal


def test_another_request_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    request().schedule()
    forbid_search(monkeypatch)
    for other in (
        schedule_request(scale(), threads=2, sizes={"n": 1000}),
        schedule_request(scale(), threads=1, sizes={"n": 1001}),
        schedule_request(scale(dtype=ps.f64), threads=1, sizes={"n": 1000}),
    ):
        with pytest.raises(AssertionError, match="searched again"):
            other.schedule()


@pytest.mark.parametrize("steps", ["vectorize('i', 8)", "vectorize('no', 8)", "no step", "\0"])
def test_an_entry_that_is_not_proved_is_not_used(steps: str) -> None:
    """``prefix`` carries a value from one iteration to the next, so it has no lanes."""
    wanted = request(prefix())
    default_cache().store(wanted._key(), steps.encode())
    schedule = wanted.schedule()
    assert schedule.optimized is not None
    assert schedule.check().is_legal


def test_a_search_that_was_cut_short_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    hasty = partial(driver.optimize_schedule, seconds=1e-6)
    monkeypatch.setattr(driver, "optimize_schedule", hasty)
    request().schedule()
    forbid_search(monkeypatch)
    with pytest.raises(AssertionError, match="searched again"):
        request().schedule()


def test_the_reasons_are_searched_when_a_report_asks_for_them() -> None:
    def twice(x):  # type: ignore[no-untyped-def]
        return 2 * x

    for function in (ps.jit(twice), ps.jit(twice)):
        np.testing.assert_array_equal(function(np.arange(3000.0)), 2 * np.arange(3000.0))
        assert "vectorize" in function.schedule.trace()
        assert "predicted" in function.report()
    assert function.schedule.optimized is None
