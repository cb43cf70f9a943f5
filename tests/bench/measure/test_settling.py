"""Waiting on a clock that only sleeping moves."""

import threading
import time
from dataclasses import dataclass

from polysched.bench.measure.settling import LONGEST, PAUSE, settle


@dataclass
class Process:
    """A process whose other threads work until a moment."""

    busy_until: float
    share: float = 1.0
    seconds: float = 0.0
    worked: float = 0.0

    def clock(self) -> float:
        return self.seconds

    def processor(self) -> float:
        return self.worked

    def pause(self, seconds: float) -> None:
        self.worked += self.share * max(0.0, min(seconds, self.busy_until - self.seconds))
        self.seconds += seconds

    def settle(self) -> bool:
        return settle(self.clock, self.processor, self.pause)


def test_an_idle_process_is_waited_for_once() -> None:
    process = Process(busy_until=0)
    assert process.settle()
    assert process.seconds == PAUSE


def test_a_thread_that_spins_is_waited_for() -> None:
    process = Process(busy_until=0.095)
    assert process.settle()
    assert 0.095 < process.seconds < 0.095 + 2 * PAUSE


def test_little_work_is_idle() -> None:
    assert Process(busy_until=9, share=0.05).settle()


def test_nobody_waits_for_ever() -> None:
    process = Process(busy_until=9)
    assert not process.settle()
    assert LONGEST <= process.seconds < LONGEST + 2 * PAUSE


def test_a_real_thread() -> None:
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            pass

    thread = threading.Thread(target=work)
    thread.start()
    threading.Timer(0.06, done.set).start()
    start = time.perf_counter()
    settle()
    thread.join()
    assert done.is_set()
    assert time.perf_counter() - start >= 0.06
