import gc
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.errors import ExportError, PolyschedError
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import IllegalScheduleError, UnknownLegalityError, Verdict
from polysched.lower import STAGES, compile, lower, show
from polysched.runtime.cache import ObjectCache
from polysched.schedule.schedule import Schedule
from polysched.vector.pass_list import PASSES
from tests.support import kernels
from tests.support.differential import NO_CACHE, assert_agrees, spread


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (kernels.scale(), ("n",)),
        (kernels.grid(), ("n", "m")),
        (kernels.grid(triangular=True), ("n",)),
        (kernels.chain(), ("n", "m")),
        (kernels.matmul(), ("m", "n", "k")),
        (kernels.matmul(triangular=True), ("m", "n")),
        (kernels.matmul(dtype=ps.f32), ("m", "n", "k")),
        (kernels.transpose(), ("n", "m")),
        (kernels.reductions(), ("n", "m")),
        (kernels.conditions(), ("n",)),
        (kernels.stepped(), ("n",)),
        (kernels.scalars(), ("n",)),
        (kernels.triangular_solve(), ("n",)),
    ],
    ids=lambda value: value.name if isinstance(value, ps.Kernel) else "",
)
def test_without_steps_the_kernel_is_what_was_declared(
    kernel: ps.Kernel, names: tuple[str, ...]
) -> None:
    assert_agrees(Schedule(kernel), *spread(*names, values=(0, 1, 3, 8)))


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (kernels.prefix(), ("n",)),
        (kernels.seidel(), ("t", "n")),
        (kernels.seidel_plane(), ("t", "n", "m")),
        (kernels.jacobi(), ("t", "n")),
        (kernels.blur(), ("n", "m")),
        (kernels.shuffle(), ("n",)),
    ],
    ids=lambda value: value.name if isinstance(value, ps.Kernel) else "",
)
def test_kernels_of_at_least_one_element(kernel: ps.Kernel, names: tuple[str, ...]) -> None:
    assert_agrees(Schedule(kernel), *spread(*names, values=(1, 2, 3, 6)))


@pytest.mark.parametrize(
    ("stage", "text"),
    [
        ("domain", "S[i]"),
        ("deps", ""),
        ("schedule", "vector iv"),
        ("tree", 'mark: "i, vector iv"'),
        ("properties", "for i: S"),
        ("loops", "vector iv in 0..8"),
        ("c", "for ("),
        ("llvm", 'define i32 @"scale"'),
        ("asm", "scale:"),
    ],
)
def test_each_stage_can_be_shown(stage: str, text: str) -> None:
    schedule = Schedule(kernels.scale()).vectorize("i", 8)
    assert text in show(schedule, stage, "haswell-avx2")


def test_the_stages_in_order() -> None:
    passes = [one.name for one in PASSES]
    assert list(STAGES) == [
        *["domain", "deps", "schedule", "tree", "properties", "loops", "c"],
        *passes,
        *["vector", "llvm", "asm"],
    ]


def test_unknown_stage() -> None:
    with pytest.raises(PolyschedError, match="unknown stage 'loop'; did you mean 'loops'"):
        show(Schedule(kernels.scale()), "loop")


def test_illegal_schedule_is_not_compiled() -> None:
    with pytest.raises(IllegalScheduleError):
        compile(Schedule(kernels.prefix()).reverse("i"), cache=NO_CACHE)


def test_lowering_does_not_judge() -> None:
    assert lower(Schedule(kernels.prefix()).reverse("i")).name == "prefix"


def test_debug_variable_prints_the_stages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POLYSCHED_DEBUG", "loops,llvm")
    compile(Schedule(kernels.scale()), cache=NO_CACHE)
    printed = capsys.readouterr().err
    assert "-- loops\nprogram scale" in printed
    assert "-- llvm\n" in printed


def test_compiled_kernel_is_called_with_arrays() -> None:
    run = compile(Schedule(kernels.scale()).vectorize("i", 8), cache=ObjectCache(None))
    result = run(np.arange(10, dtype=np.int32))
    np.testing.assert_array_equal(result, 2 * np.arange(10) + 1)


def test_export_writes_code_and_header(tmp_path: Path) -> None:
    schedule = ps.Schedule(kernels.scale()).vectorize("i", 8)
    ps.export(schedule, str(tmp_path / "a.c"), header=str(tmp_path / "a.h"), machine="generic")
    assert "int scale(const int32_t *restrict x," in (tmp_path / "a.c").read_text()
    assert "int scale(const int32_t *x," in (tmp_path / "a.h").read_text()


def test_export_looks_at_the_path_before_the_schedule(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="expected a name ending in .o"):
        ps.export(ps.Schedule(kernels.prefix()).reverse("i"), tmp_path / "a")
    with pytest.raises(IllegalScheduleError):
        ps.export(ps.Schedule(kernels.prefix()).reverse("i"), tmp_path / "a.o")
    assert not list(tmp_path.iterdir())


def test_what_was_found_legal_is_not_proved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(kernels.scale()).vectorize("i", 4)
    verdict = check(schedule)
    with monkeypatch.context() as patched:
        patched.delattr("polysched.legality.check.find_violation")
        assert check(schedule) is verdict
        compile(schedule, cache=NO_CACHE)
        with pytest.raises(NameError):
            check(Schedule(schedule.kernel))
    assert not check(Schedule(kernels.prefix()).reverse("i")).is_legal


def test_loops_are_made_once_and_kept_no_longer_than_their_program() -> None:
    schedule = Schedule(kernels.scale())
    made = lower(schedule)
    assert lower(schedule) is made
    assert lower(schedule.vectorize("i", 4)) is not made
    held = weakref.ref(made)
    del schedule, made
    gc.collect()
    assert held() is None


def test_what_the_proof_spends_the_loops_do_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(kernels.grid()).split("i", 4)
    verdict = check(schedule)

    def slow(_: Schedule) -> Verdict:
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass
        return verdict

    monkeypatch.setattr("polysched.lower.check", slow)
    expected = pytest.raises(ps.LoweringError, match="no loops could be .* more than the time it")
    with expected:
        compile(schedule, cache=NO_CACHE, seconds=0.05)
    assert compile(schedule, cache=NO_CACHE, seconds=0)


def test_a_proof_out_of_time_is_named() -> None:
    expected = pytest.raises(UnknownLegalityError, match="^cannot prove .* more than the time it")
    with expected:
        compile(Schedule(kernels.grid()).split("i", 4), cache=NO_CACHE, seconds=1e-9)


def test_a_kernel_without_arguments_is_called() -> None:
    build = ps.KernelBuilder("idle")
    scratch = build.temporary("scratch", ps.u32, (4,))
    with build.loops(i=4) as i:
        scratch[i] = 1
    run = ps.Schedule(build.kernel()).compile()
    assert run() is None
    assert run() is None
