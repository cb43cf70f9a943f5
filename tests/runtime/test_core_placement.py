"""The affinity masks that a caller sets before it wakes a worker.

The tests look at the system calls only. The system decides where a thread then runs, and on a busy
machine it moves the thread at once.
"""

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from llvmlite import binding

from polysched.machine.detect import detect_host
from polysched.runtime.jit import emit_object, target_machine
from polysched.runtime.thread_team import PARALLEL, team_module
from polysched.runtime.threads import Team
from tests.support.teams import LIBRARY, Pair, started_pair
from tests.support.teams import PARALLEL as TEAM_FUNCTION

SET_AFFINITY = "pthread_setaffinity_np"
AFFINITY_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
)


@pytest.fixture
def core() -> Iterator[int]:
    """The one core that the caller is kept on."""
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        pytest.skip("there is one core")
    os.sched_setaffinity(0, {min(usable)})
    yield min(usable)
    os.sched_setaffinity(0, usable)


@dataclass(frozen=True)
class WatchedPair:
    """A pair, and the sets of cores that its caller asks the system to keep the thread on."""

    pair: Pair
    asked: list[set[int]]


@pytest.fixture
def watched() -> WatchedPair:
    asked: list[set[int]] = []

    def set_affinity(handle: int, size: int, mask: int) -> int:
        asked.append(_cores(ctypes.string_at(mask, size)))
        return AFFINITY_FUNCTION((SET_AFFINITY, LIBRARY))(handle, size, mask)

    return WatchedPair(started_pair(_team(AFFINITY_FUNCTION(set_affinity))), asked)


def test_no_worker_is_woken_on_the_core_of_the_caller(watched: WatchedPair, core: int) -> None:
    usable = os.sched_getaffinity(watched.pair.thread)
    for _ in range(3):
        watched.asked.clear()
        watched.pair.run(LIBRARY.usleep, 1000)
        watched.pair.sleeps()
        assert watched.asked == [usable - {core}, usable]
        assert os.sched_getaffinity(watched.pair.thread) == usable


def test_a_thread_that_may_run_nowhere_else_stays_with_the_caller(pair: Pair, core: int) -> None:
    os.sched_setaffinity(pair.thread, {core})
    assert pair.is_woken_by(LIBRARY.usleep, 1000)
    assert os.sched_getaffinity(pair.thread) == {core}


def _team(set_affinity: object) -> Team:
    """A team of ours whose calls of one function of the C library come here."""
    host = detect_host()
    code = emit_object(team_module(), PARALLEL, host)
    address = ctypes.cast(set_affinity, ctypes.c_void_p).value  # type: ignore[arg-type]
    library = binding.JITLibraryBuilder().add_object_img(code)
    library.import_symbol(SET_AFFINITY, address).add_current_process().export_symbol(PARALLEL)
    jit = binding.create_lljit_compiler(target_machine(host), use_jit_link=True)
    tracker = library.link(jit, "a team that is watched")
    call = TEAM_FUNCTION(tracker[PARALLEL])
    call.needs = (jit, tracker, set_affinity)  # type: ignore[attr-defined]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(call))  # its thread never leaves the code
    return Team(call)


def _cores(mask: bytes) -> set[int]:
    bits = int.from_bytes(mask, "little")
    return {core for core in range(bits.bit_length()) if bits >> core & 1}
