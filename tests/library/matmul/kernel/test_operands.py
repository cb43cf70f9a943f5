import pytest

from polysched.library.matmul.kernel.operands import DENSE, Stored


@pytest.mark.parametrize(
    ("strides", "has_gaps"), [(None, False), ((9, 1), False), ((9, 2), True), ((1, 9), True)]
)
def test_gaps_are_those_between_the_elements_of_a_row(
    strides: tuple[int, int] | None, has_gaps: bool
) -> None:
    assert Stored(strides=strides).has_gaps is has_gaps


def test_an_operand_is_an_array_of_its_own_shape_by_default() -> None:
    assert Stored(is_transposed=False, strides=None) == DENSE
