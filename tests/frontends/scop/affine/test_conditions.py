"""Conditions on sizes as text, and an inferred condition with a remainder, against gcc."""

from __future__ import annotations

import ctypes
from pathlib import Path

import islpy as isl
import numpy as np
import pytest

from polysched.frontends.scop.affine.conditions import condition_text
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("n mod 2 = 0", "n % 2 == 0"),
        ("(n + 1) mod 3 = 0 and m >= 1", "(n + 1) % 3 == 0 && m >= 1"),
    ],
)
def test_divisibility_is_written_with_a_remainder(condition: str, text: str) -> None:
    found = condition_text(isl.Set(f"[n, m] -> {{ : {condition} }}"))
    assert found == text


def test_other_divisions_have_no_text() -> None:
    with pytest.raises(ValueError, match="division"):
        condition_text(isl.Set("[n, m] -> { : 2 * floor(n / 2) >= m }"))


@needs_gcc
def test_rows_of_an_odd_length_run_as_written(tmp_path: Path) -> None:
    text = """void pairs(float *q, int rows, int length) {
        for (int r = 0; r < rows; r++) {
            float *p = q + r * length;
            for (int i = 0; i < length; i += 2) {
                float first = p[i], second = p[i + 1];
                p[i] = second;
                p[i + 1] = first + second;
            }
        }
    }"""
    q = np.arange(60, dtype="f4")
    sizes = [(rows, length) for rows in (0, 1, 3) for length in (-3, 0, 1, 2, 8, 9, 16)]
    calls = [(q, ctypes.c_int(rows), ctypes.c_int(length)) for rows, length in sizes]
    program = assert_as_gcc(text, "pairs", tmp_path, *calls)
    assert any("length % 2 == 0" in note for note in program.notes())
