import numpy as np
import pytest

from polysched.ir.expr.dtypes import DType, f32, i8, i32, u8
from polysched.ir.expr.neutral import neutral_element
from polysched.ir.expr.operators import Operator
from polysched.loops.verify.sources import (
    UNDEFINED,
    Accumulated,
    Initial,
    Literal,
    Sources,
    Written,
    is_neutral,
)

ADD = Operator.ADD


def parts(*numbers: int) -> frozenset[tuple[int, ...]]:
    return frozenset((number,) for number in numbers)


def test_equal_sources_have_equal_numbers() -> None:
    sources = Sources()
    one = sources.number(Written("S", (1,)))
    assert sources.number(Written("S", (1,))) == one
    assert len({one, sources.number(Written("S", (2,))), sources.number(Written("T", (1,)))}) == 3
    assert sources.known[one] == Written("S", (1,))
    assert sources.text(UNDEFINED) == "undefined contents"


def test_initial_contents_have_a_number_an_element() -> None:
    sources = Sources()
    numbers = sources.initial("a", (2, 3))
    assert numbers.shape == (2, 3)
    assert len(np.unique(numbers)) == 6
    assert sources.known[int(numbers[1, 2])] == Initial("a", (1, 2))
    assert sources.text(int(numbers[1, 2])) == "the caller's a[1, 2]"
    assert sources.initial("a", (2, 3)).tolist() == numbers.tolist()
    assert sources.initial("b", ()).shape == ()


def test_contributions_are_a_set() -> None:
    sources = Sources()
    base = sources.number(Written("init", (0,)))

    def after(*numbers: int) -> int:
        own = base
        for number in numbers:
            found = sources.accumulated(own, "S", parts(number), ADD, i32)
            assert found is not None
            own = found
        return own

    assert after(1, 2, 3) == after(3, 1, 2)
    assert after(1, 2) != after(1, 2, 3)
    assert sources.known[after(2, 1)] == Accumulated(base, "S", parts(1, 2))
    assert sources.text(after(2, 1)) == "{S[1], S[2]} on init[0]"
    assert sources.accumulated(after(1, 2), "S", parts(2), ADD, i32) is None
    other = sources.accumulated(after(1), "T", parts(1), ADD, i32)
    assert other is not None
    assert sources.known[other] == Accumulated(after(1), "T", parts(1))


def test_a_neutral_literal_is_nothing() -> None:
    sources = Sources()
    zero, one = sources.number(Literal(0)), sources.number(Literal(1))
    partial = sources.accumulated(zero, "S", parts(1), ADD, i32)
    assert partial is not None
    assert sources.known[partial] == Accumulated(None, "S", parts(1))
    assert sources.text(partial) == "{S[1]} on nothing"
    spoilt = sources.accumulated(one, "S", parts(1), ADD, i32)
    assert spoilt is not None
    assert sources.text(spoilt) == "{S[1]} on literal 1"


def test_the_difference_of_two_sets_is_said() -> None:
    sources = Sources()
    base = sources.number(Written("init", ()))
    many = sources.number(Accumulated(base, "S", parts(*range(8))))
    few = sources.number(Accumulated(base, "S", parts(1, 2, 9)))
    declared, found = sources.difference(few, many)
    assert declared == "{S[1], S[2], S[9]} on init[]"
    assert found == (
        "the same without {S[9]} and with {S[0], S[3], S[4], S[5], S[6], S[7]} as well"
    )
    assert sources.text(many).startswith("{S[0], S[1], S[2], S[3], S[4], S[5], ... 8 in all} on")
    assert sources.difference(few, base) == (declared, "init[]")


@pytest.mark.parametrize("dtype", [i8, u8, i32, f32])
@pytest.mark.parametrize(
    "operator", [Operator.ADD, Operator.MULTIPLY, Operator.MINIMUM, Operator.MAXIMUM]
)
def test_neutral_elements(operator: Operator, dtype: DType) -> None:
    assert is_neutral(operator, neutral_element(operator, dtype).value, dtype)
    assert not is_neutral(operator, 2, dtype)
    assert not is_neutral(Operator.SUBTRACT, 0, dtype)
