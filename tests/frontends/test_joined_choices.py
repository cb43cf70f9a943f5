"""Both sides of a branch over data become one choice, if their stores are opposite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polysched as ps
from polysched.frontends.joined_choices import with_joined_choices
from polysched.ir.semantics.reference import run_reference
from tests.support.differential import arguments


def branches(*cases: str) -> ps.Kernel:
    """``x[i]`` is stored in several cases, one statement after another."""
    build = ps.KernelBuilder("branches")
    a, b = build.input("a", ps.i32, (9,)), build.input("b", ps.i32, (9,))
    x = build.inout("x", ps.i32, (10,))
    with build.loops(i=9) as i:
        less, small = a[i] < b[i], a[i] < 2
        conditions = {
            "less": less,
            "not less": ~less,
            "not less, small": ~less & small,
            "not less, not small": ~less & ~small,
            "x": x[i] < a[i],
            "not x": ~(x[i] < a[i]),
        }
        values = [a[i], b[i], x[i + 1] + a[i]]
        for case, value in zip(cases, values, strict=False):
            x[i] = ps.select(conditions[case], value, x[i])
    return build.kernel()


@pytest.mark.parametrize(
    ("cases", "count"),
    [
        (("less", "not less"), 1),
        (("not less", "less"), 1),
        (("less", "not less, small", "not less, not small"), 1),
        (("less", "less"), 2),
        (("less", "not less, small"), 2),  # neither case may hold
        (("x", "not x"), 2),  # the first store changes the second condition
    ],
)
def test_which_statements_are_joined(cases: tuple[str, ...], count: int) -> None:
    kernel = branches(*cases)
    joined = with_joined_choices(kernel)
    assert len(joined.statements) == count
    given = arguments(kernel, {})
    for name, result in run_reference(kernel, given, {}).items():
        np.testing.assert_array_equal(run_reference(joined, given, {})[name], result)


def test_a_joined_choice_of_integers_is_an_extremum() -> None:
    (statement,) = with_joined_choices(branches("less", "not less")).statements.values()
    assert "min" in str(statement.value)
    assert "x" not in {access.array for access in statement.reads}


def test_labeled_statements_stay_apart() -> None:
    kernel = branches("less", "not less")
    assert with_joined_choices(kernel, kept=set(kernel.statements)) is kernel


def test_statements_in_other_loops_stay_apart() -> None:
    build = ps.KernelBuilder("loops")
    a, x = build.input("a", ps.i32, (9,)), build.inout("x", ps.i32, (9,))
    with build.loops(i=9) as i:
        x[i] = ps.select(a[i] < 0, a[i], x[i])
    with build.loops(i=9) as i:
        x[i] = ps.select(~(a[i] < 0), 1, x[i])
    kernel = build.kernel()
    assert with_joined_choices(kernel) is kernel


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from(["less", "not less", "not less, small", "not less, not small", "x"]),
        min_size=2,
        max_size=3,
    ),
    st.integers(0, 2**32),
)
def test_no_value_changes(cases: list[str], seed: int) -> None:
    kernel = branches(*cases)
    given = arguments(kernel, {}, seed)
    expected, got = (run_reference(one, given, {}) for one in (kernel, with_joined_choices(kernel)))
    for name, result in expected.items():
        np.testing.assert_array_equal(got[name], result)


def longest_common(a, b, t):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            if a[i] == b[j]:
                t[i + 1, j + 1] = t[i, j] + 1
            elif t[i + 1, j] > t[i, j + 1]:
                t[i + 1, j + 1] = t[i + 1, j]
            else:
                t[i + 1, j + 1] = t[i, j + 1]


def test_a_python_function_with_branches_is_one_statement() -> None:
    function = ps.jit(longest_common)
    random = np.random.default_rng(0)
    a, b = random.integers(0, 3, 40), random.integers(0, 3, 50)
    got, expected = np.zeros((41, 51), np.int64), np.zeros((41, 51), np.int64)
    function(a, b, got)
    longest_common(a, b, expected)
    np.testing.assert_array_equal(got, expected)
    assert len(function.schedule.kernel.statements) == 1
