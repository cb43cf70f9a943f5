"""Random texts of maps: a map, or an error of polysched's own."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from polysched.errors import PolyschedError
from polysched.frontends.linalg.generic import generic
from polysched.ir.core.kernel import Kernel
from tests.support.effort import cases

PARTS = ["i", "j", "s", "0", "2", "+", "-", "*", "(", ")", ",", " ", "mod", "floordiv", ".", "=1"]
TEXTS = st.lists(
    st.sampled_from([*PARTS, " floordiv 2", " mod 3", "\0", "\n", "'", "#"]), max_size=8
)


@settings(max_examples=cases(100))
@given(TEXTS.map("".join))
@example("i]+[j")
@example("i if j else s")
@example("*i")
@example("i:=1")
def test_nothing_but_our_own_errors(text: str) -> None:
    try:
        found = generic([f"(i, j)[s] -> ({text})", "(i, j) -> (i, j)"], ["parallel"] * 2, first)
    except PolyschedError:
        return
    assert isinstance(found, Kernel)


def first(one: object, other: object) -> object:
    return one
