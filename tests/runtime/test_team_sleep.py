"""When sleeping workers are woken, and the LLVM text for each architecture."""

import pytest

from polysched.machine.detect import detect_host
from polysched.runtime.jit import architecture
from polysched.runtime.team_sleep import FUTEX_CALLS
from polysched.runtime.thread_team import team_module
from polysched.runtime.threads import thread_team
from tests.support.teams import LIBRARY, Pair

pytestmark = pytest.mark.skipif(thread_team() is None, reason="the team is for Linux only")


def test_a_sleeping_thread_is_woken_for_long_work(pair: Pair) -> None:
    assert all(pair.is_woken_by(LIBRARY.usleep, 1000) for _ in range(3))


def test_a_sleeping_thread_is_woken_for_work_of_unknown_length(pair: Pair) -> None:
    assert pair.is_woken_by(LIBRARY.getpid)
    assert pair.is_woken_by(LIBRARY.getppid)


def test_a_sleeping_thread_is_not_woken_for_short_work_alone(pair: Pair) -> None:
    pair.run(LIBRARY.getpid)
    pair.sleeps()
    # A region is long if the system interrupts it.
    assert not all(pair.is_woken_by(LIBRARY.getpid) for _ in range(100))


def test_a_sleeping_thread_is_woken_for_short_work_that_comes_often(pair: Pair) -> None:
    for _ in range(3):
        before = pair.status("voluntary_ctxt_switches")
        for _ in range(1000):
            pair.run(LIBRARY.getpid)
        pair.sleeps()
        assert pair.status("voluntary_ctxt_switches") != before


@pytest.mark.parametrize("name", FUTEX_CALLS)
def test_the_text_names_the_system_call_of_the_architecture(name: str) -> None:
    assert f"i64 {FUTEX_CALLS[name]}" in team_module(name)


def test_this_architecture_is_known() -> None:
    assert architecture(detect_host()) in FUTEX_CALLS
