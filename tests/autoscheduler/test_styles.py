"""The same computation in other loop orders, fissions and names is predicted to be as fast."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.driver import optimize_schedule
from polysched.frontends.scop import parse_c
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support.effort import EFFORT

MACHINE = PRESETS["skylake-avx512"]
WITHIN = 1.1
"""Largest ratio of the predicted cycles of two styles of one computation."""

Loops = dict[str, str]


def nest(order: str, loops: Loops, body: str) -> str:
    return "".join(loops[name] for name in order) + body


def cycles(text: str) -> float:
    program = parse_c(text).with_fast_math()
    return optimize_schedule(Schedule(program.kernel), MACHINE).after.cycles


def loop(name: str, start: str = "0", end: str = "n") -> str:
    return f"for (int {name} = {start}; {name} < {end}; {name}++) "


CUBE = {name: loop(name) for name in "ijk"}
PRODUCT = "void f(int n, double C[restrict n][n], const double A[n][n], const double B[n][n]) "
MOMENTS = "void f(int n, const float x[n][n], float s[restrict n], float q[restrict n]) "
BLUR = "void f(int n, const float a[n][n], float b[restrict n][n]) "
INNER = {name: loop(name, "1", "n - 1") for name in "ij"}
PAIR = (
    "void f(int n, const float A[n][n], const float B[n][n], const float x[n],"
    " float y[restrict n]) "
)
SWEEPS = "void f(int steps, int n, float a[restrict n][n], float b[restrict n][n]) "

STYLES = {
    "product": [
        f"{PRODUCT}{{ {nest(order, CUBE, 'C[i][j] += A[i][k] * B[k][j];')} }}"
        for order in ("ijk", "kij", "jki")
    ],
    "product with renamed loops": [
        f"{PRODUCT}{{ {loop(a)}{loop(b)}{loop(c)}C[{a}][{b}] += A[{a}][{c}] * B[{c}][{b}]; }}"
        for a, b, c in ("rst", "kij")
    ],
    "product that starts at zero": [
        f"{PRODUCT}{{ {loop('i')}{loop('j')} C[i][j] = 0;"
        f" {nest(order, CUBE, 'C[i][j] += A[i][k] * B[k][j];')} }}"
        for order in ("ijk",)
    ]
    + [
        f"{PRODUCT}{{ {loop('i')}{loop('j')} {{ C[i][j] = 0;"
        f" {loop('k')} C[i][j] += A[i][k] * B[k][j]; }} }}"
    ],
    "sums of columns": [
        f"{MOMENTS}{{ {loop(a)}{loop(b)} {{ s[j] += x[i][j]; q[j] += x[i][j] * x[i][j]; }} }}"
        for a, b in ("ij", "ji")
    ],
    "blur": [
        f"{BLUR}{{ {nest(order, INNER, 'b[i][j] = a[i - 1][j] + a[i][j - 1] + a[i + 1][j];')} }}"
        for order in ("ij", "ji")
    ],
    "sums of two matrices": [
        f"{PAIR}{{ for (int i = 0; i < n; i++) {{ float a = 0, b = 0; {body} y[i] = a + b; }} }}"
        for body in (
            f"{loop('j')} {{ a += A[i][j] * x[j]; b += B[i][j] * x[j]; }}",
            f"{loop('j')} a += A[i][j] * x[j]; {loop('j')} b += B[i][j] * x[j];",
        )
    ],
    "sweeps of a stencil": [
        f"{SWEEPS}{{ for (int t = 0; t < steps; t++) {{"
        f" {nest(there, INNER, 'b[i][j] = a[i - 1][j] + a[i][j - 1] + a[i][j + 1];')}"
        f" {nest(back, INNER, 'a[i][j] = b[i + 1][j] + b[i][j - 1] + b[i][j + 1];')} }} }}"
        for there, back in (("ij", "ij"), ("ji", "ij"), ("ji", "ji"))
    ],
}


@pytest.mark.parametrize("name", STYLES)
def test_styles_of_one_computation_are_as_fast(name: str) -> None:
    texts = STYLES[name]
    predicted = [cycles(text) for text in (texts if EFFORT > 1 else (texts[0], texts[-1]))]
    assert max(predicted) <= WITHIN * min(predicted), predicted
