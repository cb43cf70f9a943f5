"""On which cores the threads of a team are woken."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from polysched.runtime.threads import own_team
from tests.support.teams import LIBRARY, Pair

pytestmark = pytest.mark.skipif(own_team() is None, reason="the team is for Linux only")


@pytest.fixture
def core() -> Iterator[int]:
    """The one core that the caller is kept on."""
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        pytest.skip("there is one core")
    os.sched_setaffinity(0, {min(usable)})
    yield min(usable)
    os.sched_setaffinity(0, usable)


def test_nobody_wakes_up_behind_the_caller(pair: Pair, core: int) -> None:
    usable = os.sched_getaffinity(pair.thread)
    places = []
    for _ in range(5):
        os.sched_setaffinity(pair.thread, {core})
        pair.run(LIBRARY.usleep, 1000)  # there it is now
        pair.sleeps()
        os.sched_setaffinity(pair.thread, usable)
        pair.run(LIBRARY.usleep, 1000)
        fields = Path(f"/proc/self/task/{pair.thread}/stat").read_text().rsplit(")", 1)[1].split()
        places.append(int(fields[36]))
        assert os.sched_getaffinity(pair.thread) == usable
        pair.sleeps()
    assert sum(place != core for place in places) > 2


def test_a_thread_that_may_run_nowhere_else_stays_with_the_caller(pair: Pair, core: int) -> None:
    os.sched_setaffinity(pair.thread, {core})
    assert pair.is_woken_by(LIBRARY.usleep, 1000)
    assert os.sched_getaffinity(pair.thread) == {core}
