"""Calls of C functions, and the comparison of their results."""

from pathlib import Path

import numpy as np
import pytest

from polysched.bench.c_programs.calls import Expected, prepared_calls, runner_of
from polysched.bench.c_programs.code import CCompiler, compiled_by, compiled_by_polysched
from polysched.bench.c_programs.programs import Program
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
    ones = {"c": lambda _, shape: np.ones(shape)}
    return Program("twice", source, *kernels, parsed.c_function(), {"n": 5}, 1.0, inputs=ones)


def test_inputs_are_restored_and_results_forgotten(program: Program, tmp_path: Path) -> None:
    calls = prepared_calls(program)
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
def test_a_runner_compares_results(program: Program, tmp_path: Path) -> None:
    calls = prepared_calls(program)
    own = compiled_by_polysched(Schedule(program.kernel), program.function, tmp_path, "a")
    expected = Expected(calls.results(own))
    assert expected.tolerance == 1e-9
    gcc = compiled_by(CCompiler("gcc", ("gcc",)), program.source, tmp_path)
    for library in (own, gcc):
        runner = runner_of(calls, expected, library)
        assert runner.restore is not None
        runner.run()
        found = runner.output()
        assert found.shape == (10,)
        np.testing.assert_allclose(found, expected.comparable(expected.arrays), atol=1e-15)


def test_differences_are_parts_of_the_largest_magnitude() -> None:
    expected = Expected({"x": np.array([2.0, -200.0, np.nan]), "k": np.array([7, 3])})
    found = expected.comparable({"x": np.array([2.0, -190.0, np.nan]), "k": np.array([7, 4])})
    difference = np.abs(found - expected.comparable(expected.arrays))
    np.testing.assert_allclose(difference, [0, 0.05, np.nan, 0, 1])


def test_whole_numbers_have_no_tolerance() -> None:
    assert Expected({"k": np.array([7, 3])}).tolerance == 0
    assert Expected({"x": np.zeros(2, np.float32)}).tolerance == 1e-4
