"""Affine maps: their names, subscripts and bounds."""

import pytest

from polysched.errors import FrontendError
from polysched.frontends.linalg.maps import names_of, parse_map
from polysched.ir.expr.expressions import Constant, Index, Parameter

ROW, COLUMN, SIZE = Index("i"), Index("j"), Parameter("s")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(i, j) -> (j, i)", (COLUMN, ROW)),
        ("(i,j)->(2*i+j, -j)", (Constant(2) * ROW + COLUMN, -COLUMN)),
        ("affine_map< (i, j)[s] -> (i * 3 - s) >", (ROW * 3 - SIZE,)),
        ("(i, j) -> (i floordiv 4, i mod 4, i ceildiv 4)", (ROW // 4, ROW % 4, (ROW + 3) // 4)),
        ("(i, j) -> ()", ()),
        ("(i, j) -> ((i + j) * 2, 7)", ((ROW + COLUMN) * 2, Constant(7))),
    ],
)
def test_subscripts(text: str, expected: object) -> None:
    assert parse_map("map", text).subscripts({"i": ROW, "j": COLUMN, "s": SIZE}) == expected


def test_names() -> None:
    found = parse_map("map", "(i, j)[s, t] -> (i + s)")
    assert found.dimensions == ("i", "j")
    assert names_of([found, parse_map("map", "(i)[t, u] -> (i)")]) == ("s", "t", "u")
    assert found.uses("i")
    assert not found.uses("j")


@pytest.mark.parametrize("text", ["", "->", "(i) -> i", "() -> (", "(i)[ -> (i)", "(i) -> (i) x"])
def test_what_is_no_map(text: str) -> None:
    with pytest.raises(FrontendError, match="not an affine map|cannot be read"):
        parse_map("map", text)


@pytest.mark.parametrize("count", [300, 5000])
def test_a_result_too_deep(count: int) -> None:
    with pytest.raises(FrontendError, match="a result is nested more than 200 operations deep"):
        parse_map("map", f"(i) -> ({' + '.join(['i'] * count)})")
