from dataclasses import replace

import islpy as isl
import pytest

from polysched.ir.expr.affine import to_set
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.functions import maximum, minimum
from polysched.loops.analysis.conditions import (
    at_least,
    at_most,
    bound_conditions,
    range_conditions,
)
from tests.loops.programs import loop, n

INDEX = Index("i")


def test_the_range_of_a_loop() -> None:
    space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=["i"])
    values = isl.Set.universe(space)
    for condition in range_conditions(loop("i", 2, 12, step=3)):
        values = values.intersect(to_set(condition, space))
    assert values.is_equal(isl.Set("{ [2]; [5]; [8]; [11] }"))


def test_literal_bounds_are_claims_where_the_ends_do_not_imply_them() -> None:
    assert [str(one) for one in bound_conditions(replace(loop("i", 0, 12), values=(2, 5)))] == [
        "(2 <= i)",
        "(i <= 5)",
    ]
    assert bound_conditions(replace(loop("i", 0, 12), values=(-1, 11))) == ()
    assert len(bound_conditions(replace(loop("i", 0, n), values=(0, 11)))) == 1


@pytest.mark.parametrize(
    "bound",
    [
        minimum(Index("a"), Index("b")) + 1,
        Index("a") // 3,
        2 - Index("a") // 3,
        minimum((Index("a") + 1) // 4, Index("b")) - 2,
        maximum(Index("a"), Index("b") // 2),
    ],
)
def test_bounds_mean_what_they_say(bound: Expression) -> None:
    space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=["a", "b", "i"])
    box = isl.Set("{ [a, b, i] : -9 <= a, b, i <= 9 }")
    for conditions, plain in (
        (at_most(INDEX, bound), bound >= INDEX),
        (at_least(INDEX, bound), bound <= INDEX),
    ):
        simplified = box
        for condition in conditions:
            simplified = simplified.intersect(to_set(condition, space))
        assert simplified.is_equal(box.intersect(to_set(plain, space)))
