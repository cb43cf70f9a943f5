from __future__ import annotations

from pathlib import Path

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop.source.text import read_source, source_text

PREPROCESSED = """\
# 0 "own.c"
# 1 "/usr/include/math.h" 1 3 4
extern double sqrt(double);
# 3 "own.c" 2
double x;
# 7 "other.h" 1
int n;
# 5 "own.c" 2

# 5 "own.c" 3 4
_Bool
# 5 "own.c"
     flag;
"""


def test_line_markers_are_followed_and_system_headers_left_out() -> None:
    source = source_text("double x;\n", "own.c", preprocessed=PREPROCESSED)
    found = [
        (line.strip(), place)
        for line, place in zip(source.lines, source.origins, strict=True)
        if line.strip()
    ]
    assert found == [
        ("double x;", ("own.c", 3)),
        ("int n;", ("other.h", 7)),
        ("_Bool", ("own.c", 5)),
        ("flag;", ("own.c", 5)),
    ]


def test_comments_and_gnu_spellings_keep_their_places() -> None:
    text = (
        'a /* b\nc */ d; // e\nchar *s = "/* no */"; double *__restrict__ p __attribute__((x(1)));'
    )
    source = source_text(text, "a.c")
    assert source.lines[0] == "a     "
    assert source.lines[1] == "     d;     "
    assert '"/* no */"' in source.lines[2]
    assert source.lines[2].index(" p ") == text.split("\n")[2].index(" p ")
    assert "restrict    " in source.lines[2]
    assert "__" not in source.lines[2]


def test_a_place_is_found_where_the_preprocessor_changed_blanks() -> None:
    source = source_text("a  +  b;", "a.c", preprocessed='# 1 "a.c"\na + b;\n')
    span = source.span(1, 5, 6)
    assert (span.text, span.column, span.end_column) == ("a  +  b;", 7, 8)


def test_a_line_with_a_macro_is_shown_as_the_preprocessor_left_it() -> None:
    source = source_text("x = AT(1);", "a.c", preprocessed='# 1 "a.c"\nx = y[1];\n')
    assert source.span(1, 5, 9).text == "x = y[1];"
    assert source.span(1, 1, 2).text == "x = AT(1);"


def test_includes_of_system_headers_need_no_preprocessor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    path = tmp_path / "a.c"
    path.write_text("#include <math.h>\nint n;\n")
    assert read_source(path).lines[:2] == ("", "int n;")


def test_a_missing_preprocessor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    path = tmp_path / "a.c"
    path.write_text("#define N 4\n")
    with pytest.raises(FrontendError, match="needs a C preprocessor, and 'no-such-"):
        read_source(path)


def test_what_the_preprocessor_refuses(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text('#include "missing.h"\n')
    with pytest.raises(FrontendError, match=r"a\.c': the C preprocessor fails:") as caught:
        read_source(path)
    assert "missing.h" in str(caught.value)


def test_a_text_too_large() -> None:
    with pytest.raises(FrontendError, match="too large; expected at most 2,000,000 characters"):
        source_text("x" * 2_000_001, "a.c")


@pytest.mark.parametrize("blanks", ["", "  "])
def test_a_comment_goes_on_behind_a_backslash(blanks: str) -> None:
    source = source_text(f"int a; // no \\{blanks}\nint b;\nint c;", "a.c")
    assert [line.strip() for line in source.lines] == ["int a;", "", "int c;"]


def test_lines_joined_by_a_backslash_keep_their_places() -> None:
    source = source_text("int a = \\\n    b;", "a.c")
    assert [line.rstrip() for line in source.lines] == ["int a =", "    b;"]
    assert source.span(1, 5, 6).source == "a"


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_bytes(b"\xef\xbb\xbfint n;\n")
    assert read_source(path).lines[0] == "int n;"
