import pytest

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import boolean, f32, f64, i32
from polysched.ir.expr.expressions import Cast, Constant, Index, Load, Operation
from polysched.ir.expr.functions import cast, equal, maximum, minimum, not_equal, select
from polysched.ir.expr.operators import Operator

i, j = Index("i"), Index("j")
x = Load("x", (i,), f32)


def test_an_extremum_of_many_is_folded_from_the_left() -> None:
    assert minimum(i, j, 3) == minimum(minimum(i, j), 3)
    assert maximum(i, j, 3, 4) == maximum(maximum(maximum(i, j), 3), 4)


def test_equality_is_an_operation_and_not_a_comparison_of_trees() -> None:
    assert equal(i, j) == Operation(Operator.EQUAL, (i, j), boolean)
    assert not_equal(i, j) == Operation(Operator.NOT_EQUAL, (i, j), boolean)
    assert i != j


def test_cast_of_a_literal_or_to_the_same_type_is_no_node() -> None:
    assert cast(1, f32) == Constant(1.0, f32)
    assert cast(x, f32) is x
    assert cast(x, i32) == Cast(x, i32)


def test_a_selection_has_the_type_of_its_branches() -> None:
    assert select(i < j, x, 0).dtype == f32
    with pytest.raises(KernelError, match="'select' mixes f32 and f64"):
        select(i < j, x, Load("y", (), f64))
