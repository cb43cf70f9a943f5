"""What a picture that takes too long proposes."""

from __future__ import annotations

from polysched.plot.picture import ways_to_shrink


def test_a_parameter_is_made_smaller() -> None:
    assert ways_to_shrink(("S",), ("n", "m")) == "use a smaller 'n' (--size n=...)"


def test_one_of_several_statements_is_shown() -> None:
    assert ways_to_shrink(("S", "T"), ()) == (
        "show one statement (statements=('S',), or --statement S)"
    )


def test_where_nothing_helps_but_another_kernel() -> None:
    assert ways_to_shrink(("S",), ()) == "declare the kernel with smaller sizes"
