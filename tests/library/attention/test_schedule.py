"""The kernel of attention and its schedule."""

from dataclasses import replace
from pathlib import Path

import pytest

import polysched as ps
from polysched.errors import KernelError
from polysched.library.attention.kernel import attention_form, attention_kernel
from polysched.library.attention.schedule import attention_schedule


@pytest.mark.parametrize(
    ("machine", "dtype", "parallel", "causal", "masked"),
    [
        ("skylake-avx512", ps.f32, "head", False, True),
        ("haswell-avx2", ps.f32, "rows", True, False),
        ("haswell-avx2", ps.f64, None, True, True),
    ],
)
def test_schedules_are_proved_for_all_sizes(
    machine: str, dtype: ps.DType, parallel: str | None, causal: bool, masked: bool
) -> None:
    form = attention_form(24, 10, dtype=dtype, causal=causal, masked=masked, machine=machine)
    form = replace(form, whole=parallel == "head")
    schedule = attention_schedule(form, parallel)
    assert schedule.check().is_legal
    assert schedule.kernel.parameters == ("heads", "panels", "blocks" if form.whole else "keys")


def test_only_one_block_of_scores_is_stored() -> None:
    form = attention_form(8, 8, machine="haswell-avx2")
    text = ps.show(attention_schedule(form), "vector")
    temporaries = [line for line in text.splitlines() if "temporary scores" in line]
    assert temporaries == [f"temporary scores_local: f32[{form.keys}, 1, {form.panel}]"]


def test_the_schedule_is_shown_and_exported(tmp_path: Path) -> None:
    schedule = attention_schedule(attention_form(8, 8, machine="haswell-avx2"))
    assert "score_tile" in ps.show(schedule, "loops")
    ps.export(schedule, tmp_path / "attention.c", header=tmp_path / "attention.h")
    assert "attention_8x8_f32" in (tmp_path / "attention.h").read_text()


def test_other_types_and_sizes_are_refused() -> None:
    with pytest.raises(KernelError, match="attention: width is 0; expected an integer >= 1"):
        attention_kernel(attention_form(0, 8))
    with pytest.raises(KernelError, match="elements of type i32; expected f32 or f64"):
        attention_kernel(attention_form(8, 8, dtype=ps.i32))
