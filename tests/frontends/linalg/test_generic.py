"""Kernels written as linalg.generic: against numpy, and what is said of those that do not fit."""

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.linalg.generic import generic
from polysched.ir.core.kernel import Order, Role

MATMUL = ["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"]
PPR = ["parallel", "parallel", "reduction"]


def run(kernel: ps.Kernel, *arrays: np.ndarray, **sizes: int) -> Any:
    return ps.Schedule(kernel).compile()(*arrays, **sizes)


def numbers(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)


def test_a_matrix_product() -> None:
    kernel = generic(MATMUL, PPR, lambda a, b, c: c + a * b, start=0, order="any")
    a, b = numbers(5, 6), numbers(6, 7)
    np.testing.assert_array_equal(run(kernel, a, b), a @ b)
    reduction = kernel.statements["body"].reduction
    assert reduction is not None
    assert reduction.order is Order.ANY
    assert kernel.statements["body"].indices == ("m", "n", "k")


def test_without_a_start_the_output_is_updated_in_place() -> None:
    kernel = generic(MATMUL, PPR, lambda a, b, c: c + a * b, names=["a", "b", "c"])
    assert kernel.arrays["c"].role is Role.INOUT
    a, b, c = numbers(5, 6), numbers(6, 7), numbers(5, 7)
    expected = c + a @ b
    run(kernel, a, b, c)
    np.testing.assert_array_equal(c, expected)


def test_shapes_follow_from_the_maps() -> None:
    kernel = generic(
        [
            "affine_map<(y, x, r, s) -> (2 * y + r, x - s + 2)>",
            "affine_map<(y, x, r, s) -> (r, s)>",
            "affine_map<(y, x, r, s) -> (y, x)>",
        ],
        ["parallel", "parallel", "reduction", "window"],
        lambda a, f, out: out + a * f,
        sizes={"r": 3, "s": 3},
        start=0,
    )
    shapes = {name: [str(one) for one in array.shape] for name, array in kernel.arrays.items()}
    assert shapes == {
        "in0": ["((2 * size_y) + 1)", "(size_x + 2)"],
        "in1": ["3", "3"],
        "out0": ["size_y", "size_x"],
    }
    a, f = numbers(9, 8), numbers(3, 3)
    expected = np.zeros((4, 6), "f4")
    for r in range(3):
        for s in range(3):
            expected += a[r : r + 8 : 2, 2 - s : 8 - s] * f[r, s]
    np.testing.assert_array_equal(run(kernel, a, f), expected)


def test_floor_division_remainders_symbols_and_types() -> None:
    kernel = generic(
        ["(i)[s] -> (i floordiv 4 + s, i mod 4)", "(i) -> (i ceildiv 2)", "(i) -> (i)"],
        ["parallel"],
        lambda a, b, out: a + ps.cast(b, ps.f32),
        sizes={"i": 32, "s": 1},
        dtypes=["f32", ps.i32, "f32"],
    )
    assert kernel.arrays["out0"].role is Role.OUTPUT
    a, b = numbers(9, 4), numbers(17, dtype="i4")
    i = np.arange(32)
    expected = a[i // 4 + 1, i % 4] + b[(i + 1) // 2]
    np.testing.assert_array_equal(run(kernel, a, b), expected)


def test_several_outputs_and_an_operand_of_no_dimensions() -> None:
    kernel = generic(
        ["(i) -> ()", "(i) -> (i)", "(i) -> (i)", "(i) -> (i)"],
        ["parallel"],
        lambda alpha, x, double, negative: (alpha * x, -x),
        sizes={"i": "n"},
        outputs=2,
    )
    assert kernel.parameters == ("n",)
    x = numbers(5)
    double, negative = run(kernel, np.array(2, "f4"), x)
    np.testing.assert_array_equal(double, 2 * x)
    np.testing.assert_array_equal(negative, -x)


def test_a_sum_of_everything() -> None:
    kernel = generic(
        ["(i, j) -> (i, j)", "(i, j) -> ()"],
        ["reduction", "reduction"],
        lambda x, total: total + x,
        start=0,
    )
    x = numbers(5, 6)
    assert run(kernel, x)[()] == x.sum()


def test_it_can_be_scheduled() -> None:
    kernel = generic(MATMUL, PPR, lambda a, b, c: c + a * b, start=0, order="any")
    schedule = ps.Schedule(kernel).reorder("body.k", "body.n").vectorize("body.n", 16)
    a, b = numbers(5, 6), numbers(6, 37)
    np.testing.assert_array_equal(schedule.compile()(a, b), a @ b)


def bad(maps: Any = MATMUL, types: Any = PPR, body: Any = None, **options: Any) -> str:
    with pytest.raises(ps.PolyschedError) as raised:
        generic(maps, types, body or (lambda a, b, c: c + a * b), **options)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(m, n, k) -> (m * k)", ("m * k", "one factor of a product")),
        ("(m, n, k) -> (m, z)", ("z", "'z' is not a dimension of the map")),
        ("(m, n, k) -> (m floordiv n)", ("m floordiv n", "a divisor must be")),
        ("(m, n, k) -> (m mod 0)", ("m mod 0", "a divisor must be")),
        ("(m, n, k) -> (m / 2)", ("m / 2", "expected dimensions and integers")),
        ("(m, n, k) -> (m, 1.5)", ("1.5", "expected dimensions and integers")),
        ("(m, n, k) -> (m - 1)", ("m - 1", "this is -1 for some elements")),
        ("(m, n, k) -> (m, +)", (")", "the results cannot be read here")),
        ("(m, n, k) - (m)", ("(m, n, k) - (m)", "this is not an affine map")),
        ("(m, 2, k) -> (m)", (" 2", "'2' is not the name of a dimension")),
        ("(m, m, k) -> (m)", (" m", "occurs twice")),
    ],
)
def test_messages_point_into_maps(text: str, expected: tuple[str, str]) -> None:
    underlined, reason = expected
    message = bad([text, *MATMUL[1:]])
    place, line, carets = message.splitlines()
    assert place.startswith(f"indexing_maps[0]:1:{text.rindex(underlined) + 1}: ")
    assert reason in place
    first = carets.index("^")
    assert line[first : first + carets.count("^")] == underlined


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"maps": []}, "indexing_maps expects a list"),
        ({"maps": "(m) -> (m)"}, "indexing_maps expects a list"),
        ({"maps": [*MATMUL[:2], 5]}, "indexing_maps[2] is of type int"),
        ({"maps": [*MATMUL[:2], "(m, n) -> (m, n)"]}, "expected (m, n, k), as indexing_maps[0]"),
        ({"types": PPR[:2]}, "expected a list of 3, one for each of (m, n, k)"),
        ({"types": 5}, "iterator_types is 5; expected a list of 3"),
        ({"types": ["paralel", *PPR[1:]]}, "unknown iterator type 'paralel'; did you mean"),
        ({"types": PPR[::-1]}, "dimension 'm' is a reduction and is in the subscripts"),
        ({"types": ["parallel"] * 3}, "dimension 'k' is parallel and is not in the subscripts"),
        ({"outputs": 0}, "0 outputs of 3 operands"),
        ({"dtypes": ["f32"]}, "1 dtypes for 3 operands"),
        ({"dtypes": "f33"}, "unknown element type 'f33'"),
        ({"dtypes": None}, "dtypes is None; expected an element type, or a list"),
        ({"names": ["a"]}, "names=['a']; expected a list of 3"),
        ({"names": ["a", "a", "b"]}, "the name is taken already"),
        ({"sizes": {"q": 3}}, "the maps have no dimension 'q', which sizes names"),
        ({"sizes": {"m": 1.5}}, "size 1.5 of 'm'"),
        ({"body": lambda a: a}, "the body cannot be called with 3 elements"),
        ({"body": lambda a, b, c: (a, b)}, "the body returns 2 values; expected 1"),
        ({"body": lambda a, b, c: "a"}, "'a' of type str cannot stand in an expression"),
        ({"order": "some"}, "unknown order policy 'some'"),
    ],
)
def test_parts_that_do_not_fit(options: Any, expected: str) -> None:
    assert expected in bad(**options)


def test_an_output_computed_from_another() -> None:
    message = bad(
        ["(i) -> (i)", "(i) -> (i)", "(i) -> (i)"],
        ["parallel"],
        lambda x, a, b: (x, a),
        outputs=2,
    )
    assert "output 1 reads an earlier output" in message
