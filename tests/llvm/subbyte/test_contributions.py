"""The enumerator of bits: known tables, all pairs of widths by brute force, bad input."""

import pytest

from polysched.errors import LoweringError
from polysched.llvm.subbyte.contributions import (
    Contribution,
    columns,
    contributions,
    period,
)

FIVE_TO_EIGHT = """\
{ 0: b@[0..5) lshl: 0 }{ 1: b@[0..3) lshl: 5 }
{ 1: b@[3..5) lshl: 0 }{ 2: b@[0..5) lshl: 2 }{ 3: b@[0..1) lshl: 7 }
{ 3: b@[1..5) lshl: 0 }{ 4: b@[0..4) lshl: 4 }
{ 4: b@[4..5) lshl: 0 }{ 5: b@[0..5) lshl: 1 }{ 6: b@[0..2) lshl: 6 }
{ 6: b@[2..5) lshl: 0 }{ 7: b@[0..5) lshl: 3 }"""

FIFTEEN_TO_TEN = """\
{ 0: b@[0..10) lshl: 0 }
{ 0: b@[10..15) lshl: 0 }{ 1: b@[0..5) lshl: 5 }
{ 1: b@[5..15) lshl: 0 }"""

TWENTY_FOUR_TO_EIGHT = """\
{ 0: b@[0..8) lshl: 0 }
{ 0: b@[8..16) lshl: 0 }
{ 0: b@[16..24) lshl: 0 }"""


@pytest.mark.parametrize(
    ("source", "target", "table"),
    [(5, 8, FIVE_TO_EIGHT), (15, 10, FIFTEEN_TO_TEN), (24, 8, TWENTY_FOUR_TO_EIGHT)],
)
def test_the_known_tables(source: int, target: int, table: str) -> None:
    lines = ["".join(map(str, parts)) for parts in contributions(source, target)]
    assert "\n".join(lines) == table


def test_the_table_repeats_after_a_period() -> None:
    table = contributions(5, 8, 32)
    assert len(table) == 20
    assert table[5:10] == tuple(
        tuple(Contribution(part.source + 8, part.low, part.high, part.shift) for part in parts)
        for parts in table[:5]
    )


@pytest.mark.parametrize("source", range(1, 33))
def test_every_bit_comes_from_its_place_in_the_sequence(source: int) -> None:
    for target in range(1, 33):
        count, targets = period(source, target)
        assert count * source == targets * target
        found: list[tuple[int, int] | None] = [None] * (count * source)
        for position, parts in enumerate(contributions(source, target)):
            for part in parts:
                for bit in range(part.low, part.high):
                    place = position * target + part.shift + bit - part.low
                    assert place // target == position
                    assert found[place] is None
                    found[place] = (part.source, bit)
        assert found == [divmod(bit, source) for bit in range(count * source)]


def test_columns_are_the_table_transposed() -> None:
    first, second, third = columns(contributions(5, 8))
    assert [part.source for part in first if part] == [0, 1, 3, 4, 6]
    assert [part.source for part in second if part] == [1, 2, 4, 5, 7]
    assert [part and part.source for part in third] == [None, 3, None, 6, None]


@pytest.mark.parametrize(("source", "target"), [(0, 8), (8, 0), (65, 8), (8, -1)])
def test_a_width_that_is_none_is_refused(source: int, target: int) -> None:
    with pytest.raises(LoweringError, match="expected a width from 1 to 64"):
        contributions(source, target)


def test_totals_that_differ_are_refused() -> None:
    with pytest.raises(
        LoweringError, match="3 elements of 5 bits are 15 bits, .*3 a multiple of 8"
    ):
        contributions(5, 8, 3)
    with pytest.raises(LoweringError, match="-8 elements of 5 bits"):
        contributions(5, 8, -8)


def test_no_elements_make_no_elements() -> None:
    assert contributions(5, 8, 0) == ()
    assert columns(()) == ()
