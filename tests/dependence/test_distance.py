import islpy as isl
import pytest

from polysched.dependence.distance import distance, format_distance, format_distances
from polysched.ir.expr.linear_form import Interval


def between(relation: str, source: str, sink: str) -> Interval:
    return distance(isl.Map(relation), isl.PwAff(source), isl.PwAff(sink))


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("[N] -> { S[i] -> T[i + 3] : 0 <= i < N }", (3, 3)),
        ("[N] -> { S[i] -> T[j] : 0 <= i < j < N }", (1, None)),
        ("[N] -> { S[i] -> T[j] : 0 <= j < i < N }", (None, -1)),
        ("[N] -> { S[i] -> T[j] : 0 <= i, j < 5 }", (-4, 4)),
        ("[N] -> { S[i] -> T[j] : 0 <= i, j < N }", (None, None)),
        ("[N] -> { S[i] -> T[j] : false }", (None, None)),
    ],
)
def test_of_the_same_loop(relation: str, expected: Interval) -> None:
    assert between(relation, "[N] -> { S[i] -> [i] }", "[N] -> { T[i] -> [i] }") == expected


def test_values_are_functions_of_each_statement() -> None:
    relation = "{ S[i] -> T[j] : j = 4i and 0 <= i < 9 }"
    assert between(relation, "{ S[i] -> [2i] }", "{ T[j] -> [floor(j/2) + 7] }") == (7, 7)


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((1, 1), "1"),
        ((-2, 3), "-2..3"),
        ((1, None), ">= 1"),
        ((None, -1), "<= -1"),
        ((None, None), "any"),
    ],
)
def test_text(bounds: Interval, text: str) -> None:
    assert format_distance(bounds) == text


def test_text_of_several_loops() -> None:
    assert format_distances(((1, 1),)) == "distance 1"
    assert format_distances(((0, None), (-1, -1))) == "distance (>= 0, -1)"
