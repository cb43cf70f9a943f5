"""The text of a contraction as labels."""

import pytest

from polysched.frontends.einsum.subscripts import Subscripts, parse_subscripts


@pytest.mark.parametrize(
    ("text", "dimensions", "operands", "result"),
    [
        ("ij,jk->ik", (2, 2), ("ij", "jk"), "ik"),
        ("ji", (2,), ("ji",), "ij"),
        ("Ba,ab", (2, 2), ("Ba", "ab"), "Bb"),
        ("", (0,), ("",), ""),
        (" i j ->", (2,), ("ij",), ""),
        ("...i,...->i...", (3, 1), ((1, 0, "i"), (0,)), ("i", 1, 0)),
        ("a...b", (4,), (("a", 1, 0, "b"),), (1, 0, "a", "b")),
        ("...", (0,), ("",), ""),
    ],
)
def test_labels(text: str, dimensions: tuple[int, ...], operands: object, result: object) -> None:
    expected = Subscripts(tuple(map(tuple, operands)), tuple(result))  # type: ignore[call-overload]
    assert parse_subscripts(text, dimensions) == expected
