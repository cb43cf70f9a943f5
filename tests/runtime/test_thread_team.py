"""The thread team: worker slots, concurrent callers, sleeping and waking, the end of a process."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from polysched.runtime.thread_team import TEAMS
from polysched.runtime.threads import Team, thread_team
from tests.support.shared_code import shared_code  # noqa: F401  (for processes that multiply)
from tests.support.teams import run


@pytest.fixture
def team() -> Team:
    return thread_team()


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_each_worker_slot_is_taken_at_most_once(team: Team, count: int) -> None:
    for _ in range(20):
        calls: list[int] = []
        run(team, lambda: calls.append(threading.get_native_id()), count)  # noqa: B023
        assert 1 <= len(calls) <= count


def test_threads_work_side_by_side(team: Team) -> None:
    met = threading.Barrier(3)
    run(team, lambda: met.wait(timeout=20), 3)
    assert not met.broken


def test_threads_come_to_any_number_of_regions(team: Team) -> None:
    for _ in range(3 * TEAMS):
        met = threading.Barrier(2)
        run(team, lambda: met.wait(timeout=20), 2)  # noqa: B023
        assert not met.broken


def test_a_caller_waits_only_for_workers_that_joined(team: Team) -> None:
    """Were each of the three waited for, all of them would come to every region."""
    run(team, lambda: None, 4)
    time.sleep(0.05)  # all sleep
    calls: list[int] = []
    for _ in range(99):
        run(team, lambda: calls.append(1), 4)
    assert 99 <= len(calls) < 4 * 99


def test_a_caller_sleeps_until_the_last_thread_has_finished(team: Team) -> None:
    caller, done = threading.get_native_id(), []
    entered = threading.Event()

    def work() -> None:
        if threading.get_native_id() == caller:
            assert entered.wait(timeout=20)
        else:
            entered.set()
            time.sleep(0.05)
            done.append(True)

    run(team, work, 2)
    assert done == [True]


def test_callers_at_the_same_time_all_get_their_work_done(team: Team) -> None:
    lock, count = threading.Lock(), [0]

    def work() -> None:
        with lock:
            count[0] += 1

    def call(_: int) -> None:
        for _ in range(20):
            run(team, work, 2)

    callers = TEAMS + 4  # four find no team and work alone
    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(call, range(callers)))
    assert 20 * callers <= count[0] <= 2 * 20 * callers


def test_a_region_inside_of_a_region(team: Team) -> None:
    inner: list[int] = []
    run(team, lambda: run(team, lambda: inner.append(1), 2), 2)
    assert 1 <= len(inner) <= 4


def test_a_process_ends_while_its_threads_wait() -> None:
    """Some still look for work, others sleep; their code must outlive the interpreter's end."""
    program = (
        "import time, numpy as np, polysched as ps\n"
        "a = np.ones((300, 300), np.float32)\n"
        "assert (ps.matmul(a, a, threads=4) == 300).all()\n"
        "time.sleep({pause})\n"
        "ps.matmul(a, a, threads=2)\n"
    )
    for pause in (0, 0.05):
        command = [sys.executable, "-c", program.format(pause=pause)]
        assert subprocess.run(command, check=False, timeout=120).returncode == 0
