import pytest

from polysched.ir.expr.dtypes import f32, f64
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.orientation import pays_transposed
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.load import load_machine
from tests.library.matmul.products import COMPUTED, TRANSPOSED

AVX512 = load_machine("skylake-avx512")


@pytest.mark.parametrize(
    ("sizes", "transpose_a", "is_transposed"),
    [
        ((1000, 2, 124), False, True),
        ((1000, 8, 1000), False, True),
        ((1000, 8, 64), False, False),  # adding up the sums takes longer
        ((1000, 2, 20), False, False),
        ((1000, 2, 20), True, True),
        ((1000, 16, 16), True, False),  # storing them one by one does
        ((1000, 17, 1000), True, False),  # columns that fill a vector
        ((4, 8, 1000), True, False),  # as many columns as rows
        ((9, 8, 38000), False, False),  # b would be transposed for few rows
    ],
)
def test_few_columns_are_rows(
    sizes: tuple[int, int, int], transpose_a: bool, is_transposed: bool
) -> None:
    problem = Problem(Sizes(*sizes), f32, a=Stored(transpose_a))
    assert pays_transposed(problem, AVX512) is is_transposed


def test_a_transposed_b_is_not_transposed_again() -> None:
    sizes = Sizes(12, 8, 38000)
    assert not pays_transposed(Problem(sizes), AVX512)
    assert pays_transposed(Problem(sizes, b=TRANSPOSED), AVX512)


def test_vectors_of_another_type_have_other_lanes() -> None:
    sizes = Sizes(1000, 12, 1000)
    assert pays_transposed(Problem(sizes, f32), AVX512)
    assert not pays_transposed(Problem(sizes, f64), AVX512)


def test_computed_operands_stay() -> None:
    assert not pays_transposed(Problem(Sizes(1000, 2, 124), a=COMPUTED), AVX512)
    assert not pays_transposed(Problem(Sizes(1000, 2, 124), b=COMPUTED), AVX512)
