"""Remainders of bytes and shorts on processors without masks for them."""

from __future__ import annotations

import re

import pytest

from polysched.frontends.scop import parse_c
from polysched.lower import show
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees
from tests.support.effort import covering

SUMS = """
void f(int n, const {element} x[restrict n + 1], const {element} z[restrict 3 * n],
       {element} y[restrict n])
{{
    for (int i = 0; i < n; i++)
        y[i] = x[i] + x[i + 1] - z[3 * i];
}}
"""
TYPES = ["unsigned char", "short"]


def _sums(element: str, lanes: int, size: int | None = None) -> Schedule:
    text = SUMS.format(element=element)
    if size is not None:
        text = text.replace("int n, ", "").replace("3 * n", str(3 * size))
        text = text.replace("n + 1", str(size + 1)).replace("restrict n", f"restrict {size}")
        text = text.replace("i < n", f"i < {size}")
    return Schedule(parse_c(text).kernel).vectorize("i", lanes)


@covering(2, element=TYPES, lanes=[4, 8, 16, 32, 64], machine=["haswell-avx2", "generic"])
def test_every_remainder(element: str, lanes: int, machine: str) -> None:
    """Guard bytes around the arrays show that nothing beside them changes."""
    sizes = ({"n": n} for n in range(lanes + 2) if lanes < 32 or n % 5 < 2)
    assert_agrees(_sums(element, lanes), *sizes, machine=machine)


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("size", [17, 22, 31, 45])
def test_literal_remainders(element: str, size: int) -> None:
    assert_agrees(_sums(element, 16, size), {}, machine="haswell-avx2")


def _branches(text: str) -> int:
    return len(re.findall(r"^\s+j(?!mp)\w+\s", text, re.MULTILINE))


@pytest.mark.parametrize("element", TYPES)
def test_no_branch_for_each_lane(element: str) -> None:
    """Each function has a branch for each power of two, whatever the number of accesses."""
    assert _branches(show(_sums(element, 16), "asm", machine="haswell-avx2")) < 30
    assert "_first" not in show(_sums(element, 16), "asm", machine="znver4")
    assert _branches(show(_sums(element, 16, 31), "asm", machine="haswell-avx2")) < 3
