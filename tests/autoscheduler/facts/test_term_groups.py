"""Sums to which one instruction adds groups of terms."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.term_groups import term_groups
from polysched.frontends.scop import parse_c
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.tensorize import Tensorize
from polysched.schedule.schedule import Schedule

ROWS = """
#include <stdint.h>
void f(int m, int n, const {x} x[restrict m][n], const {y} y[restrict n], {s} s[restrict m])
{{
    for (int i = 0; i < m; i++) {{
        {s} sum = 0;
        for (int j = 0; j < n; j++)
            sum += {value};
        s[i] = sum;
    }}
}}
"""
BLOCKS = """
#include <stdint.h>
void f(int m, int n, const uint8_t x[restrict 8 * m][8 * n], const uint8_t y[restrict 8 * m][8 * n],
       uint16_t s[restrict m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            unsigned sum = 0;
            for (int k = 0; k < 8; k++)
                for (int l = 0; l < 8; l++) {
                    int d = x[8 * i + k][8 * j + l] - y[8 * i + k][8 * j + l];
                    sum += d < 0 ? -d : d;
                }
            s[i][j] = sum;
        }
}
"""


def rows(x: str, y: str, s: str, value: str) -> str:
    return ROWS.format(x=f"{x}_t", y=f"{y}_t", s=f"{s}_t", value=value)


PRODUCT, DIFFERENCE = "x[i][j] * y[j]", "x[i][j] > y[j] ? x[i][j] - y[j] : y[j] - x[i][j]"


@pytest.mark.parametrize(
    ("text", "machine", "instruction"),
    [
        (rows("int8", "uint8", "int32", PRODUCT), "znver4", "vpdpbusd"),
        (rows("int16", "int16", "uint32", PRODUCT), "haswell-avx2", "vpmaddwd"),
        (BLOCKS, "znver4", "vpsadbw"),
    ],
)
def test_instructions_of_sums(text: str, machine: str, instruction: str) -> None:
    start = Schedule(parse_c(text).kernel)
    found = optimize_schedule(start, PRESETS[machine], sizes={"m": 40, "n": 256}).schedule
    steps = [step for step in found.steps if isinstance(step, Tensorize)]
    assert {step.instruction for step in steps} == {instruction}


def test_values_of_rows_of_any_length() -> None:
    start = Schedule(parse_c(rows("uint8", "uint8", "int32", DIFFERENCE)).kernel)
    machine = PRESETS["haswell-avx2"]
    found = optimize_schedule(start, machine, sizes={"m": 40, "n": 256}).schedule
    generator = np.random.default_rng(5)
    x = generator.integers(0, 256, (9, 77), np.uint8)
    y, s = generator.integers(0, 256, 77, np.uint8), np.zeros(9, np.int32)
    ps.compile(found, machine)(x, y, s)
    assert (s == np.abs(x.astype(int) - y).sum(axis=1)).all()


@pytest.mark.parametrize(
    ("x", "s", "value"),
    [("uint16", "int32", PRODUCT), ("int8", "int64", "(int64_t)x[i][j] * y[j]")],
)
def test_sums_of_other_types(x: str, s: str, value: str) -> None:
    program = Schedule(parse_c(rows(x, x, s, value)).kernel).program
    (name,) = (name for name, one in program.statements.items() if one.reduction)
    facts = statement_facts(program, name, {"m": 40, "n": 256})
    assert not list(term_groups(program, facts, PRESETS["znver4"]))
