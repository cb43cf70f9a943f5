"""The workspaces that the C extension keeps for each thread."""

import ctypes
import threading

import numpy as np
import pytest

import polysched as ps
from polysched.runtime.extension import WORKSPACE_FUNCTIONS

pytestmark = pytest.mark.skipif(not WORKSPACE_FUNCTIONS, reason="the extension is not built")


def functions():
    (_, take), (_, give) = WORKSPACE_FUNCTIONS
    taken = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(take)
    return taken, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(give)


def test_a_thread_keeps_one_block() -> None:
    take, give = functions()
    first = take(4096, 1 << 20)
    assert first % 4096 == 0
    other = take(4096, 1 << 20)
    assert other not in (None, first)
    give(other)
    give(first)
    assert take(64, 1 << 19) == first
    give(first)
    larger = take(4096, 1 << 22)
    ctypes.memset(larger, 1, 1 << 22)
    give(larger)
    huge = take(4096, 65 << 20)
    assert huge != larger
    give(huge)
    assert take(4096, 1 << 22) == larger
    give(larger)


def test_threads_have_blocks_of_their_own() -> None:
    take, give = functions()
    first, found = take(64, 1 << 16), []
    thread = threading.Thread(target=lambda: found.append(take(64, 1 << 16)))
    thread.start()
    thread.join()
    give(first)
    assert found[0] not in (None, first)


def test_calls_with_a_workspace() -> None:
    build = ps.KernelBuilder("twice")
    n = build.parameter("n")
    x, y = build.input("x", "f64", [n]), build.output("y", "f64", [n])
    t = build.temporary("t", "f64", [n])
    with build.loops(i=n) as i:
        t[i] = x[i] + 1
    with build.loops(i=n) as i:
        y[i] = 2 * t[n - 1 - i]
    run = ps.compile(ps.Schedule(build.kernel()))

    def check() -> None:
        for size in (10, 100_000, 1000, 0, 300_000):
            given = np.arange(float(size))
            np.testing.assert_array_equal(run(given), 2 * (given[::-1] + 1))

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    check()
    for thread in threads:
        thread.join()
