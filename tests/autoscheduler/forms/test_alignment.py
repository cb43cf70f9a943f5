"""Alignment of loops: the least shifts and skew factors that make a band permutable."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.forms.alignment import Alignment, aligned
from polysched.frontends.scop import parse_c
from polysched.ir.core.tree import Loop, Sequence
from polysched.legality.checks.order import demanded
from polysched.schedule.core.program import initial_program


def of_time_loop(text: str) -> Alignment | None:
    """The alignment of the loops directly inside the only outer loop of a C function."""
    program = initial_program(parse_c(text).kernel)
    time = program.tree
    assert isinstance(time, Loop)
    children = time.body.children if isinstance(time.body, Sequence) else (time.body,)
    members = [child for child in children if isinstance(child, Loop)]
    dependences = demanded(program.dependences)
    return aligned(program.statements, dependences, (), (time,), members)


def sweep(to: str, expression: str, lower: int = 1) -> str:
    return f"for (int i = {lower}; i < n - {lower}; i++) {to}[i] = {expression};"


def function(*sweeps: str) -> str:
    body = " ".join(sweeps)
    arrays = "double A[restrict n], double B[restrict n]"
    return f"void f(int T, int n, {arrays}) {{ for (int t = 0; t < T; t++) {{ {body} }} }}"


def test_two_sweeps_of_radius_one() -> None:
    text = function(sweep("B", "A[i-1] + A[i+1]"), sweep("A", "B[i-1] + B[i+1]"))
    assert of_time_loop(text) == Alignment((0, 1), (2,))


def test_a_sweep_and_a_copy_back() -> None:
    text = function(sweep("B", "A[i-1] + A[i+1]"), sweep("A", "B[i]"))
    assert of_time_loop(text) == Alignment((0, 1), (2,))


def test_a_sweep_in_place() -> None:
    assert of_time_loop(function(sweep("A", "A[i-1] + A[i+1]"))) == Alignment((0,), (1,))


def test_a_radius_of_two() -> None:
    text = function(sweep("B", "A[i-2] + A[i+2]", 2), sweep("A", "B[i]", 2))
    assert of_time_loop(text) == Alignment((0, 2), (4,))


def test_independent_sweeps_need_no_alignment() -> None:
    text = function(sweep("B", "A[i]"), sweep("A", "2.0 * A[i]"))
    assert of_time_loop(text) == Alignment((0, 0), (0,))


@pytest.mark.parametrize("read", ["A[n - 1 - i]", "A[0]"])
def test_distances_that_grow_with_a_size_have_no_alignment(read: str) -> None:
    assert of_time_loop(function(sweep("B", read), sweep("A", "B[i]", 0))) is None
