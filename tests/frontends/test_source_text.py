"""Source spans, and how errors show them."""

from hypothesis import given
from hypothesis import strategies as st

from polysched.errors import FrontendError, PolyschedError
from polysched.frontends.source_text import Span, excerpt


def test_the_place_the_line_and_carets() -> None:
    assert excerpt("a.c", 3, 8, 11, "A[i] = B[i*j];").splitlines() == [
        "a.c:3:8",
        "  A[i] = B[i*j];",
        "         ^^^",
    ]


def test_a_tab_stays_one_and_odd_characters_become_question_marks() -> None:
    assert excerpt("a.c", 1, 3, 4, "\t\x00x").splitlines()[1:] == ["  \t?x", "  \t ^"]


def test_a_place_behind_the_line_gets_one_caret() -> None:
    assert excerpt("a.c", 1, 9, 9, "ab").splitlines() == ["a.c:1:3", "  ab", "    ^"]


def test_a_long_line_is_cut_around_the_place() -> None:
    _, line, carets = excerpt("a.c", 1, 401, 404, "x" * 400 + "abc" + "y" * 400).splitlines()
    assert line[carets.index("^") :].startswith("abc")
    assert carets.count("^") == 3
    assert len(line) <= 102


@given(st.text(max_size=200), st.integers(-5, 300), st.integers(-5, 300))
def test_carets_are_always_below_the_line(text: str, column: int, end: int) -> None:
    _, _, carets = excerpt("f", 1, column, end, text).split("\n")
    assert "^" in carets
    assert len(carets) <= min(len(text), 100) + 3


def test_an_error_that_points() -> None:
    span = Span("a.c", 2, 5, 8, "x = i*j")
    error = span.error("not affine")
    assert isinstance(error, FrontendError)
    assert isinstance(error, PolyschedError)
    assert str(error) == "a.c:2:5: not affine\n  x = i*j\n      ^^^"
    assert error.reason == "not affine"
    assert str(error.location) == "a.c:2:5"
    assert span.source == "i*j"
