"""Functions that run without a search for a schedule."""

import pytest

from polysched.frontends.python.calls.chosen_schedule import ScheduleRequest
from polysched.user import Schedule
from tests.support.effort import EFFORT


@pytest.fixture
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run compiled functions in the order of the program, unless there is time for a search.

    For tests of the translation: the search takes two thirds of their time.
    """
    if EFFORT == 1:
        monkeypatch.setattr(ScheduleRequest, "optimized", lambda self: Schedule(self.kernel))
