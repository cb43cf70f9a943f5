"""Statements of Python, one kind at a time: what they declare."""

import numpy as np

import polysched as ps
from polysched.frontends.python.decorator import read_kernel
from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import boolean, f32
from polysched.ir.semantics.reference import run_reference

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


def computed(function: object, *arrays: np.ndarray) -> list[list[float]]:  # type: ignore[type-arg]
    """What Python leaves in arrays, which the kernel has to leave too."""
    kernel = read_kernel(function)  # type: ignore[arg-type]
    given = [one.copy() for one in arrays]
    kernel.python(*given)
    sizes = {one: len(arrays[0]) for one in kernel.parameters}
    found = run_reference(kernel, dict(zip(kernel.arrays, arrays, strict=False)), sizes)
    for name, expected in zip(kernel.arrays, given, strict=False):
        np.testing.assert_array_equal(found.get(name, expected), expected)
    return [one.tolist() for one in given]


def test_a_name_changed_in_a_branch_has_no_one_value_behind_it() -> None:
    def function(x: "i64[n]"):
        n = x.shape[0]
        k = 1
        if n > 5:
            k = 2
        x[0] = k

    assert computed(function, np.zeros(5, np.int64)) == [[1, 0, 0, 0, 0]]
    assert computed(function, np.zeros(6, np.int64)) == [[2, 0, 0, 0, 0, 0]]


def test_branches_over_data_change_only_what_they_reach() -> None:
    def function(x: "i64[n]", y: "i64[n]"):
        for i in range(len(x)):
            if x[i] > 1:
                x[i] = 0
                y[i] = 7
            elif x[i] == 1:
                y[i] += 1
            else:
                y[i] = -1

    x, y = np.array([2, 1, 0, 3]), np.array([5, 5, 5, 5])
    assert computed(function, x, y) == [[0, 1, 0, 0], [7, 6, -1, 7]]


def test_a_condition_in_a_narrow_type_wraps() -> None:
    def function(x: "i64[n]"):
        x[0] = 1
        if np.uint16(0) > -np.uint16(100):
            x[0] = 2
        if -np.uint16(100) < 5:
            x[0] = 3

    with np.errstate(over="ignore"):
        assert computed(function, np.zeros(1, np.int64)) == [[1]]
