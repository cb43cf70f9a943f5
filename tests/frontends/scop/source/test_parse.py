from __future__ import annotations

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.text import source_text


def test_types_of_the_standard_headers_are_known() -> None:
    text = "uint8_t a; int64_t b; size_t c; bool d; ptrdiff_t e; FILE *f;"
    assert [node.name for node in parse(source_text(text, "a.c")).tree.ext[-6:]] == list("abcdef")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int x = ;", "a.c:1:9: not C: invalid expression"),
        ("int x\n= 1 1;", "a.c:2:5: not C: unexpected '1'"),
        ("int a[" + "(" * 200, "brackets are nested 101 deep; expected at most 100"),
    ],
)
def test_an_error_has_a_place(text: str, message: str) -> None:
    with pytest.raises(FrontendError) as caught:
        parse(source_text(text, "a.c"))
    assert message in str(caught.value)
    assert caught.value.location is not None
