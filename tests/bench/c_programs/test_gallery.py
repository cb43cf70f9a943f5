"""Calls of the gallery's programs, and what is said of them; speeds are not asserted."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polysched.bench.c_programs.code import (
    CCompiler,
    Program,
    compiled_by,
    compiled_by_polysched,
    compiler_kernels,
    installed_compilers,
)
from polysched.bench.c_programs.gallery import (
    Expected,
    contestants,
    expected_results,
    prepared_calls,
    speedups,
)
from polysched.bench.c_programs.works import WORKS
from polysched.bench.measure.contestant import UnavailableError
from polysched.bench.measure.race import Result
from polysched.frontends.scop import parse_c
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import needs_gcc

TEXT = """
void twice(int n, double factor, double x[restrict n], double y[restrict n], const int c[n])
{
    for (int i = 0; i < n; i++) {
        y[i] = factor * x[i];
        x[i] = x[i] + y[i] + c[i];
    }
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A program that overwrites one of its inputs."""
    source = tmp_path / "twice.c"
    source.write_text(TEXT)
    parsed = parse_c(TEXT)
    kernels = (parsed.kernel, parsed.with_fast_math().kernel)
    return Program("twice", source, *kernels, parsed.c_function(), None)


def test_every_program_of_the_gallery_has_sizes() -> None:
    gallery = Path(__file__).parents[3] / "examples" / "gallery"
    assert set(WORKS) == {path.stem for path in gallery.glob("*.c")}
    assert all(work.operations(**work.sizes("large")) > 1e6 for work in WORKS.values())


def test_small_sizes_are_a_twentieth() -> None:
    assert WORKS["doitgen"].sizes("large") == {"r": 140, "q": 150, "p": 160}
    assert WORKS["doitgen"].sizes("small") == {"r": 7, "q": 7, "p": 8}


def test_inputs_are_restored_and_results_forgotten(program: Program, tmp_path: Path) -> None:
    calls = prepared_calls(program, {"n": 5}, {"c": lambda _, shape: np.ones(shape)})
    assert calls.written == ("x", "y")
    assert set(calls.originals) == {"x"}
    before = calls.arrays["x"].copy()
    call = calls.call(
        compiled_by_polysched(Schedule(program.kernel), program.function, tmp_path, "a")
    )
    call()
    np.testing.assert_allclose(calls.arrays["y"], 1.25 * before)
    np.testing.assert_allclose(calls.arrays["x"], 2.25 * before + 1)
    calls.restore()
    np.testing.assert_array_equal(calls.arrays["x"], before)
    calls.forget()
    np.testing.assert_array_equal(calls.arrays["x"], before)
    assert np.isnan(calls.arrays["y"]).all()


@needs_gcc
def test_contestants_agree(program: Program, tmp_path: Path) -> None:
    calls = prepared_calls(program, {"n": 7}, {})
    expected = expected_results(calls, tmp_path)
    assert expected.tolerance == 1e-9
    gcc = [one for one in installed_compilers() if one.name == "gcc"]
    scheduled, plain, other = contestants(calls, expected, gcc, tmp_path)
    with pytest.raises(UnavailableError, match="the gallery has no twice.sched"):
        scheduled.prepare()
    for one in (plain, other):
        runner = one.prepare()
        assert runner.restore is not None
        runner.run()
        found = runner.output()
        assert found.shape == (14,)
        np.testing.assert_allclose(found, expected.comparable(expected.arrays), atol=1e-15)


def test_differences_are_parts_of_the_largest_magnitude() -> None:
    expected = Expected({"x": np.array([2.0, -200.0, np.nan]), "k": np.array([7, 3])})
    found = expected.comparable({"x": np.array([2.0, -190.0, np.nan]), "k": np.array([7, 4])})
    difference = np.abs(found - expected.comparable(expected.arrays))
    np.testing.assert_allclose(difference, [0, 0.05, np.nan, 0, 1])


def test_whole_numbers_have_no_tolerance() -> None:
    assert Expected({"k": np.array([7, 3])}).tolerance == 0
    assert Expected({"x": np.zeros(2, np.float32)}).tolerance == 1e-4


@needs_gcc
def test_a_compiler_that_refuses_does_not_race(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int f( {")
    with pytest.raises(UnavailableError, match="'gcc -O3 -march=native -ffast-math .* failed: "):
        compiled_by(CCompiler("gcc", ("gcc",)), source, tmp_path)
    with pytest.raises(UnavailableError, match="cannot run 'no-such-cc': No such file"):
        compiled_by(CCompiler("none", ("no-such-cc",)), source, tmp_path)


def result(name: str, fraction: float) -> Result:
    return Result("twice n=7", name, fraction, 1.0, 1.0, 3, 0.0)


def test_ratios_are_over_all_others() -> None:
    raced = [result("polysched", 0.6), result("unscheduled", 0.1), result("gcc", 0.2)]
    found = speedups("twice", raced)
    assert [(one.own, one.over) for one in found] == [
        ("polysched", "unscheduled"),
        ("polysched", "gcc"),
    ]
    assert [one.ratio for one in found] == pytest.approx([6, 3])


def test_a_program_without_a_schedule_races_as_it_is_written() -> None:
    (found,) = speedups("twice", [result("unscheduled", 0.1), result("gcc", 0.2)])
    assert (found.own, found.over, found.ratio) == ("unscheduled", "gcc", 0.5)
    assert speedups("twice", [result("gcc", 0.2)]) == ()


def test_there_is_no_ratio_to_a_compiler_that_is_held_back() -> None:
    gcc = replace(result("gcc", 0.2), held_back="its kernels are narrow")
    assert speedups("twice", [result("polysched", 0.6), gcc]) == ()


@needs_gcc
def test_the_kernels_of_a_compiler() -> None:
    found = compiler_kernels(CCompiler("cc", ("gcc", "-O1")))
    assert (found.name, found.library) == ("cc", "gcc -O1")
    assert re.fullmatch(
        r"-O3 -march=native -ffast-math, tuned for \w+, a plain loop has vectors of \d+ bits",
        found.architecture,
    )
    assert found.version[0].isdigit()
    assert found.held_back is None
