"""Statements of Python, one kind at a time: what they declare."""

import numpy as np

import polysched as ps
from polysched.frontends.python.decorator import read_kernel
from polysched.ir.dtypes import boolean, f32
from polysched.ir.kernel import Role

# ruff: noqa: F821


def shown(function: object) -> list[str]:
    """The statements of a function's kernel."""
    return list(map(str, read_kernel(function).statements.values()))  # type: ignore[arg-type]


def test_an_affine_local_is_no_place_in_memory() -> None:
    def function(x: "f32[n]"):
        n = x.shape[0]
        for i in range(n):
            k = n - 1 - i
            k = k * 1
            x[k] = 0

    kernel = read_kernel(function)
    assert list(kernel.arrays) == ["x"]
    assert [str(one.target) for one in kernel.statements.values()] == ["x[(((n - 1) - i) * 1)]"]


def test_a_local_number_takes_the_type_of_what_is_stored_later() -> None:
    def function(x: "f32[n]"):
        s = 0
        for i in range(len(x)):
            s += x[i]
        x[0] = s

    kernel = read_kernel(function)
    assert kernel.arrays["s"].dtype == f32
    assert kernel.arrays["s"].role is Role.TEMPORARY


def test_an_annotated_local() -> None:
    def function(x: "f32[n]"):
        s: f32 = 0
        x[0] = s

    assert read_kernel(function).arrays["s"].dtype == f32


def test_a_condition_that_its_branch_changes_is_kept() -> None:
    def function(x: "f32[n]"):
        for i in range(len(x)):
            if x[i] > 0:
                x[i] = 0
                x[i] += 1

    kernel = read_kernel(function)
    assert kernel.arrays["condition"].dtype == boolean
    assert "condition: condition[] = (0.0 < x[i])" in shown(function)


def test_a_condition_over_indices_restricts_the_domain() -> None:
    def function(x: "f32[n]"):
        for i in range(len(x)):
            if i % 2 == 0 and i > 3:
                x[i] = 0
            else:
                x[i] = 1

    domains = [one.domain for one in read_kernel(function).statements.values()]
    assert domains[0].intersect(domains[1].set_tuple_name("x")).is_empty()
    assert [str(one.value) for one in read_kernel(function).statements.values()] == ["0.0", "1.0"]


def test_a_branch_that_is_never_taken_is_left_out() -> None:
    def function(x: "f32[n]"):
        n = x.shape[0]
        for i in range(n):
            if i < n:
                x[i] = 0
            else:
                x[0] = 1

    assert shown(function) == ["x: x[i] = 0.0"]


def test_assertions_are_promises_about_sizes() -> None:
    def function(x: "f32[n]", n: int):
        assert 4 <= n < 9
        x[3] = 0

    context = read_kernel(function).context
    assert not context.intersect(type(context)("[n] -> { : n = 8 }")).is_empty()
    assert context.intersect(type(context)("[n] -> { : n = 9 or n = 3 }")).is_empty()


def test_several_indices_at_once() -> None:
    def plain(x: "f32[n, m]"):
        for i, j in np.ndindex(3, 4):
            x[i, j] = 0

    assert read_kernel(plain).statements["x"].indices == ("i", "j")


def test_a_label() -> None:
    def function(x: "f32[n]"):
        for i in range(len(x)):
            with ps.statement("fill"):
                x[i] = 0

    assert shown(function) == ["fill: x[i] = 0.0"]
