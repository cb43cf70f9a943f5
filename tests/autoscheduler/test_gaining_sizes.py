"""The sizes at which a schedule gains, and the program that runs at other sizes."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import polysched as ps
from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.gaining_sizes import (
    LARGEST_FACTOR,
    described_sizes,
    gaining_sizes,
)
from polysched.autoscheduler.report import report_of
from polysched.cli.main import main
from polysched.frontends.scop import parse_c
from polysched.ir.core.printing import format_expression
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Constant, Parameter
from polysched.ir.expr.functions import maximum, minimum
from polysched.llvm.export.c_interface import emit_unscheduled
from polysched.lower import unscheduled_variant
from polysched.machine.load import as_machine
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.tensorize import Tensorize

ROWS = """
void rows(float *restrict x, const float *restrict scale, int pixels, int channels)
{
    for (int p = 0; p < pixels; p++)
        for (int c = 0; c < channels; c++)
            x[p * channels + c] = x[p * channels + c] * scale[c];
}
"""
DOT = """
void dot(const float *restrict x, const float *restrict y, float *restrict out, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    out[0] = sum;
}
"""


LARGEST = """
void largest(const float *restrict x, float *restrict out, int n)
{
    float most = x[0];
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    out[0] = most;
}
"""


COLUMNS = """
void columns(const float *restrict a, const float *restrict x, float *restrict y, int n)
{
    for (int j = 0; j < n; j++) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[k * n + j] * x[k];
        y[j] = sum;
    }
}
"""


GROUPED = """
void grouped(const short *restrict x, int *restrict out, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    out[0] = sum;
}
"""


def _gains(text: str, start: ps.Schedule | None = None, *, fast: bool = False) -> str | None:
    program = parse_c(text).with_fast_math() if fast else parse_c(text)
    schedule = start or ps.Schedule(program.kernel)
    condition = gaining_sizes(optimize_schedule(schedule, as_machine("skylake-avx512")))
    return None if condition is None else format_expression(condition)


def test_a_vector_loop_needs_as_many_iterations_as_half_a_vector() -> None:
    condition = _gains(ROWS)
    assert condition is not None
    assert "8 <= channels" in condition
    assert "<= pixels" not in condition


def test_a_sum_that_llvm_vectorizes_needs_terms_for_all_its_partial_sums() -> None:
    schedule = ps.Schedule(parse_c(DOT).with_fast_math().kernel)
    made = optimize_schedule(schedule, as_machine("skylake-avx512"))
    parts = next(step.factor for step in made.schedule.steps if isinstance(step, Split))
    condition = gaining_sizes(made)
    assert condition is not None
    assert format_expression(condition) == f"{parts} <= n"


def test_sums_in_lanes_along_another_loop_have_no_partial_sums() -> None:
    condition = _gains(COLUMNS, fast=True)
    assert condition is not None
    assert condition.startswith("8 <= n")


def test_terms_of_one_instruction_do_not_count_as_partial_sums() -> None:
    made = optimize_schedule(ps.Schedule(parse_c(GROUPED).kernel), as_machine("zen5"))
    assert any(isinstance(step, Tensorize) for step in made.schedule.steps)
    assert gaining_sizes(made) is not None
    assert "lane_term" in str(report_of(made.schedule, made.machine, made.sizes, made))


def test_a_maximum_that_llvm_does_not_vectorize_needs_half_a_vector() -> None:
    condition = _gains(LARGEST, fast=True)
    assert condition is not None
    assert condition.startswith("8 <= n")


def test_a_program_without_a_schedule_runs_as_written() -> None:
    assert _gains(DOT) == "False"


def test_steps_of_a_person_are_kept_at_all_sizes() -> None:
    kernel = parse_c(ROWS).kernel
    assert _gains(ROWS, ps.Schedule(kernel).split("c", 16, ("co", "ci"))) is None


def test_llvm_chooses_the_width_of_vectors_of_the_program_as_written() -> None:
    kernel = parse_c(ROWS).kernel
    plain = unscheduled_variant(ps.Schedule(kernel), Constant(False, boolean))
    machine = as_machine("skylake-avx512")
    assert "-prefer-256-bit" in machine.features
    assert "prefer-256-bit" not in emit_unscheduled(plain, "rows.unscheduled", machine)


def test_llvm_reassociates_only_sums_whose_order_is_free() -> None:
    strict = parse_c(DOT)
    for program, flag in ((strict, False), (strict.with_fast_math(), True)):
        plain = unscheduled_variant(ps.Schedule(program.kernel), Constant(False, boolean))
        text = emit_unscheduled(plain, "dot.unscheduled", as_machine("skylake-avx512"))
        assert ("reassoc" in text) == flag


@pytest.mark.parametrize("channels", [1, 3, 7, 8, 33])
def test_both_programs_compute_the_same(
    tmp_path_factory: pytest.TempPathFactory, channels: int
) -> None:
    library = _library(tmp_path_factory)
    x, scale = np.arange(6 * channels, dtype="f4"), np.linspace(1, 2, channels, dtype="f4")
    expected = (x.reshape(6, channels) * scale).ravel()
    library.rows(
        x.ctypes.data_as(ctypes.c_void_p), scale.ctypes.data_as(ctypes.c_void_p), 6, channels
    )
    assert np.array_equal(x, expected)


def _library(factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile the function with the autoscheduler, once for all tests."""
    path = Path(factory.getbasetemp()) / "rows.so"
    if not path.exists():
        source = path.with_suffix(".c")
        source.write_text(ROWS)
        arguments = ["compile", str(source), "--function", "rows", "--auto", "-o", str(path)]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert "runs as written unless 8 <= channels" in result.output
    return ctypes.CDLL(str(path))


def test_the_command_says_that_no_schedule_gains(tmp_path: Path) -> None:
    source, code = tmp_path / "swap.c", str(tmp_path / "swap.ll")
    source.write_text("void swap(int *x) { int t = x[0]; x[0] = x[1]; x[1] = t; }")
    result = CliRunner().invoke(main, ["compile", f"{source}:swap", "--auto", "-o", code])
    assert result.exit_code == 0, result.output
    assert "runs as written: no schedule is predicted to gain" in result.output


def test_limits_of_factors_are_told_in_words() -> None:
    n, m = Parameter("n"), Parameter("m")
    capped = [minimum(maximum(size, 0), LARGEST_FACTOR) for size in (n, m)]
    condition = (n >= 8) & (capped[0] * capped[1] >= 4096)
    assert described_sizes(condition) == ("8 <= n and 4096 <= n*m (a factor counts up to 1024)")
    assert described_sizes(n >= 8) == "8 <= n"
