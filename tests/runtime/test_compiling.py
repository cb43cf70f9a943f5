from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.machine.load import load_machine
from polysched.runtime.cache import ENVIRONMENT_VARIABLE
from polysched.runtime.compiling import stored_kernel
from polysched.runtime.kernel import CompiledKernel

MACHINE = load_machine(None)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "cache"))


def _scaled(factor: int, *, parallel: bool = False) -> CompiledKernel:
    build = ps.KernelBuilder("scaled")
    n = build.parameter("n", minimum=3)
    x, y = build.input("x", ps.f32, (n,)), build.output("y", ps.f32, (n,))
    with build.loops(i=n) as i:
        y[i] = factor * x[i]
    schedule = ps.Schedule(build.kernel()).split("i", 8, into=("outer", "lane"))
    return (schedule.parallel("outer") if parallel else schedule).compile(MACHINE)


def _never() -> CompiledKernel:
    raise AssertionError("the kernel is on disk")


@pytest.mark.parametrize("parallel", [False, True])
def test_a_stored_kernel_is_the_same_kernel(parallel: bool) -> None:
    made = stored_kernel("twice", MACHINE, lambda: _scaled(2, parallel=parallel))
    loaded = stored_kernel("twice", MACHINE, _never)
    assert loaded.signature == made.signature
    assert (loaded.llvm, loaded.options, loaded.machine) == (made.llvm, made.options, MACHINE)
    assert loaded.is_threaded == made.is_threaded == parallel
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(loaded(x), 2 * x)
    assert loaded.assembly == made.assembly


def test_a_stored_kernel_checks_its_arguments() -> None:
    stored_kernel("twice", MACHINE, lambda: _scaled(2))
    loaded = stored_kernel("twice", MACHINE, _never)
    with pytest.raises(ps.CallError, match="n >= 3|n - 3"):
        loaded(np.ones(2, np.float32))
    with pytest.raises(ps.CallError, match="'x'"):
        loaded(np.ones(5))


def test_each_description_has_its_kernel() -> None:
    x = np.arange(10, dtype=np.float32)
    for factor in (2, 3):
        stored_kernel(f"{factor} times", MACHINE, lambda factor=factor: _scaled(factor))
    for factor in (2, 3):
        np.testing.assert_array_equal(
            stored_kernel(f"{factor} times", MACHINE, _never)(x), factor * x
        )


def test_another_machine_has_another_kernel() -> None:
    stored_kernel("twice", MACHINE, lambda: _scaled(2))
    with pytest.raises(AssertionError, match="on disk"):
        stored_kernel("twice", load_machine("haswell-avx2"), _never)


def test_without_a_folder_every_kernel_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "off")
    stored_kernel("twice", MACHINE, lambda: _scaled(2))
    with pytest.raises(AssertionError, match="on disk"):
        stored_kernel("twice", MACHINE, _never)
