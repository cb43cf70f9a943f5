"""When sleeping workers are woken."""

from tests.support.teams import LIBRARY, Pair


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
