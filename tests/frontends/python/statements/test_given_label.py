"""Labels as the source has them."""

import pytest

import polysched as ps
from polysched.errors import FrontendError
from polysched.frontends.python.decorator import read_kernel
from polysched.ir.core.kernel import Order

# ruff: noqa: F821


def test_by_position_and_by_name() -> None:
    def function(x: "f32[n]", y: "f32[3]"):
        for i in range(len(x)):
            with ps.statement("first", "any"):
                y[0] += x[i]
            with ps.statement(order="exact", name="second"):
                y[1] += x[i]

    found = read_kernel(function).statements
    policies = [one.reduction and one.reduction.order for one in found.values()]
    assert policies == [Order.ANY, Order.EXACT]
    assert list(found) == ["first", "second"]


def no_name(x: "f32[n]"):
    with ps.statement(order="any"):
        x[0] += 1


def number_as_name(x: "f32[n]"):
    with ps.statement(5):
        x[0] = 1


def unknown_argument(x: "f32[n]"):
    with ps.statement("s", policy="any"):
        x[0] = 1


def two_statements(x: "f32[n]"):
    with ps.statement("s"):
        x[0] = 1
        x[1] = 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_name, "expected the name of the statement"),
        (number_as_name, "expected a string literal for name= or order="),
        (unknown_argument, "expected a string literal for name= or order="),
        (two_statements, "statement 's' holds more than one assignment"),
    ],
)
def test_labels_that_do_not_fit(function: object, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        read_kernel(function)  # type: ignore[arg-type]
