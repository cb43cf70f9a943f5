import pytest

from polysched.errors import CallError
from polysched.library.matmul.dispatch.shapes import Shape, bias_of, product_of
from polysched.library.matmul.kernel.declare import Sizes, Stack
from polysched.library.matmul.kernel.epilogue import Bias


def test_matrices() -> None:
    product = product_of((2, 3), (3, 4))
    assert product.sizes == Sizes(2, 4, 3)
    assert (product.shape, product.stacks, product.outer) == ((2, 4), (), ())


def test_a_stack_by_a_matrix_is_a_tall_matrix() -> None:
    product = product_of((5, 6, 2, 3), (1, 3, 4))
    assert product.sizes == Sizes(60, 4, 3)
    assert (product.shape, product.stacks) == ((5, 6, 2, 4), ())


def test_neighbors_of_one_kind_are_one_dimension() -> None:
    product = product_of((5, 1, 6, 2, 3), (5, 1, 6, 3, 4))
    assert product.stacks == (Stack(30),)
    assert product.shape == (5, 1, 6, 2, 4)


def test_an_operand_knows_only_its_own_stack() -> None:
    product = product_of((5, 1, 2, 3), (6, 3, 4))
    assert product.stacks == (Stack(5, of_b=False), Stack(6, of_a=False))
    assert (product.outer, product.outer_of("a"), product.outer_of("b")) == ((5, 6), (5,), (6,))
    assert product.sizes.batch == 30


def test_the_innermost_stack_of_a_alone_is_rows() -> None:
    product = product_of((5, 6, 2, 3), (5, 1, 3, 4))
    assert (product.sizes, product.stacks) == (Sizes(12, 4, 3, 5), (Stack(5),))


def test_turned() -> None:
    turned = product_of((5, 1, 2, 3), (6, 3, 4)).transposed
    assert turned.sizes == Sizes(4, 2, 3, 30)
    assert (turned.outer_of("a"), turned.outer_of("b")) == ((6,), (5,))


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ((), (3,), "'a' has no dimension"),
        ((2, 3), (2, 3), "has 3 columns and 'b' of shape (2, 3) has 2 rows"),
        ((5, 2, 3), (6, 3, 4), "expected extents that are equal, or 1 in one of the two"),
    ],
)
def test_shapes_that_do_not_fit(a: Shape, b: Shape, message: str) -> None:
    with pytest.raises(CallError) as error:
        product_of(a, b)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("a", "b", "bias", "expected"),
    [
        ((2, 3), (3, 4), (4,), (Bias.COLUMNS, 1)),
        ((2, 3), (3, 4), (1, 4), (Bias.COLUMNS, 1)),
        ((2, 3), (3, 4), (1,), (Bias.COLUMNS, 1)),
        ((2, 3), (3, 4), (2, 1), (Bias.ROWS, 1)),
        ((5, 2, 3), (3, 4), (2, 1), (Bias.ROWS, 5)),
        ((5, 2, 3), (5, 3, 4), (2, 1), (Bias.ROWS, 1)),
        ((2, 3), (3,), (2,), (Bias.ROWS, 1)),
        ((5, 2, 3), (3,), (2,), (Bias.ROWS, 5)),
        ((3,), (3, 4), (4,), (Bias.COLUMNS, 1)),
        ((3,), (3,), (), (Bias.COLUMNS, 1)),
    ],
)
def test_bias(a: Shape, b: Shape, bias: Shape, expected: tuple[Bias, int]) -> None:
    assert bias_of(bias, product_of(a, b)) == expected


@pytest.mark.parametrize("bias", [(2,), (2, 4), (4, 1), (1, 1, 4)])
def test_no_bias(bias: Shape) -> None:
    with pytest.raises(CallError, match=r"expected \(4,\), or \(2, 1\) for one of each row"):
        bias_of(bias, product_of((2, 3), (3, 4)))
