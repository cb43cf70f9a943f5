"""Teams of threads, and parallel loops that run on them."""

import ctypes
import ctypes.util
import functools
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import polysched as ps
from polysched.llvm.export.c_interface import TEAM
from polysched.runtime import threads
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.threads import Team, current_team, thread_team
from tests.support import kernels

LIBGOMP = ctypes.util.find_library("gomp")


@pytest.fixture(params=["own", "openmp"])
def team(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Team:
    """The team of kernels, and the one of exported code."""
    if request.param == "own":
        return thread_team()
    if LIBGOMP is None:
        pytest.skip("libgomp is not installed")
    given = Team(getattr(ctypes.CDLL(LIBGOMP), TEAM))
    monkeypatch.setattr(threads, "current_team", lambda: given)
    return given


@functools.cache
def product(*, parallel: bool) -> CompiledKernel:
    """A product of which every iteration of the outer loop has two buffers of its own."""
    schedule = (
        ps.Schedule(kernels.matmul(dtype=ps.f32))
        .split("update.j", 32, into=("jo", "ji"))
        .split("update.i", 4, into=("io", "ii"))
        .reorder("jo", "io", "l", "ii", "ji")
        .promote("c", at="io", lanes=16)
        .pack("b", at="jo")
        .vectorize("ji", 16)
    )
    return (schedule.parallel("jo") if parallel else schedule).compile()


@pytest.mark.parametrize("shape", [(1, 1, 1), (9, 31, 5), (16, 200, 33), (5, 300, 700)])
def test_every_number_of_threads_computes_the_same(team: Team, shape: tuple[int, int, int]) -> None:
    run = product(parallel=True)
    m, n, k = shape
    generator = np.random.default_rng(0)
    a = generator.random((m, k), dtype=np.float32)
    b = generator.random((k, n), dtype=np.float32)
    expected = product(parallel=False)(a, b)
    for count in (1, 2, 3, 7):
        np.testing.assert_array_equal(run(a, b, threads=count), expected)
    np.testing.assert_array_equal(run(a, b), expected)


def test_a_loop_with_another_step_and_outer_variables(team: Team) -> None:
    plain = ps.Schedule(kernels.stepped()).compile()
    run = ps.Schedule(kernels.stepped()).parallel("j").compile()
    for size in (0, 1, 7, 20):
        x = np.arange(size, dtype=np.int32)
        got, expected = np.ones((2, size, size), dtype=np.int32)
        plain(x, expected)
        run(x, got, threads=3)
        np.testing.assert_array_equal(got, expected)


def test_parallel_loops_inside_a_loop_and_inside_each_other(team: Team) -> None:
    schedule = ps.Schedule(kernels.jacobi()).parallel("there.i").parallel("back.i")
    plain, run = ps.Schedule(kernels.jacobi()).compile(), schedule.compile()
    arrays = [np.arange(50, dtype=np.int32), np.zeros(50, dtype=np.int32)]
    expected = [array.copy() for array in arrays]
    plain(*expected, t=3)
    run(*arrays, t=3, threads=4)
    np.testing.assert_array_equal(arrays, expected)
    grid = ps.Schedule(kernels.grid()).parallel("i").parallel("j").compile()
    x = np.arange(35, dtype=np.int32).reshape(5, 7)
    expected_grid = ps.Schedule(kernels.grid()).compile()(x)
    np.testing.assert_array_equal(grid(x, threads=2), expected_grid)


def test_threads_of_a_pool_may_call_at_the_same_time(team: Team) -> None:
    run = product(parallel=True)
    generator = np.random.default_rng(0)
    a, b = generator.random((2, 64, 64), dtype=np.float32)
    expected = run(a, b, threads=1)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: run(a, b), range(20)):
            np.testing.assert_array_equal(got, expected)


def run_once() -> CompiledKernel:
    run = ps.Schedule(kernels.scale()).parallel("i").compile()
    np.testing.assert_array_equal(run(np.arange(9, dtype=np.int32), threads=2)[:3], [1, 3, 5])
    return run


def test_a_forked_child_can_run_parallel_loops() -> None:
    run = run_once()
    child = os.fork()
    if child == 0:  # the child must not come back into pytest
        result = run(np.arange(9, dtype=np.int32), threads=2)
        os._exit(0 if result.tolist() == list(range(1, 19, 2)) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_child_has_a_team_of_its_own() -> None:
    team = current_team()
    assert current_team() is team
    child = os.fork()
    if child == 0:  # the child must not come back into pytest
        os._exit(current_team() is team)
    assert os.waitpid(child, 0)[1] == 0


def test_other_systems_have_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    threads._team_code.cache_clear()
    monkeypatch.setattr(threads, "architecture", lambda _: "aarch64")
    with pytest.raises(ps.MachineError, match="parallel loops run on Linux on x86-64 only"):
        thread_team()


def test_a_number_of_threads_of_numpy() -> None:
    run, x, two = run_once(), np.arange(4, dtype=np.int32), np.int64(2)
    for number in (two, 2, two, np.uint8(2)):
        np.testing.assert_array_equal(run(x, threads=number), [1, 3, 5, 7])
        np.testing.assert_array_equal(ps.matmul(x, x, threads=number), 14)
        np.testing.assert_array_equal(ps.einsum("i,i->", x, x, threads=number), 14)
        np.testing.assert_array_equal(ps.transpose(x, threads=number), x)


def test_wrong_numbers_of_threads() -> None:
    run = run_once()
    x = np.arange(4, dtype=np.int32)
    for wrong in (0, -1, 1.5, True, np.True_, "2"):
        with pytest.raises(ps.CallError, match="threads=.*; expected an integer >= 1"):
            run(x, threads=wrong)
    plain = ps.Schedule(kernels.scale()).compile()
    with pytest.raises(ps.CallError, match="has no parallel loop, so threads=2 has no effect"):
        plain(x, threads=2)


def test_a_parameter_of_that_name_is_the_kernels_own() -> None:
    build = ps.KernelBuilder("own")
    size = build.parameter("threads", minimum=1)
    y = build.output("y", ps.i32, (size,))
    with build.loops(i=size) as i, build.statement("S"):
        y[i] = 7
    run = ps.Schedule(build.kernel()).parallel("i").compile()
    assert run(threads=3).tolist() == [7, 7, 7]


def test_usable_threads() -> None:
    assert 1 <= threads.usable_threads() <= (os.cpu_count() or 1)


def test_a_thread_that_comes_late_finds_its_chunk_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a team of which only one thread ever runs, that one does the whole work."""
    whole = thread_team()

    def alone(work: int, task: int, count: int, flags: int) -> None:
        whole.parallel(work, task, 1, flags)

    signature = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
    lonely = Team(ctypes.CFUNCTYPE(None, *signature)(alone))
    monkeypatch.setattr(threads, "current_team", lambda: lonely)
    a, b = np.ones((9, 5), np.float32), np.ones((5, 70), np.float32)
    expected = product(parallel=False)(a, b)
    np.testing.assert_array_equal(product(parallel=True)(a, b, threads=4), expected)


def test_one_thread_runs_every_kernel() -> None:
    plain = ps.Schedule(kernels.scale()).compile()
    x = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(plain(x, threads=1), plain(x))
