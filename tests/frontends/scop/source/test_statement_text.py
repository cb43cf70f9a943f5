"""The end of a statement, found in the text."""

from __future__ import annotations

import pytest

from polysched.frontends.scop.source.statement_text import statement_end


@pytest.mark.parametrize(
    "statement",
    [
        "x = f(a, b);",
        "for (i = 0; i < n; i++) x[i] = 0;",
        "for (;;) { if (x) break; }",
        "while (a[f(i)]) { s = \"}\"; c = '}'; }",
        "do { x++; } while (x < 3);",
        "do x++; while (x < 3);",
        "if (a) b = 1; else c = 2;",
        "if (a) { b = 1; } else if (c) { d = 2; } else { e = 3; }",
        "if (a) for (;;) x(); else while (b) ;",
        "if (a) b = 1;",
        "switch (a) { case 1: b = 1; break; default: ; }",
        "#pragma GCC ivdep\nfor (;;) { x(); }",
        "{ int a[2] = {1, 2}; }",
        "int a[2] = {1, 2};",
    ],
)
def test_the_end_of_a_statement(statement: str) -> None:
    text = f"{{ before();\n{statement} after(); }} }}"
    assert statement_end(text, text.index(statement)) == text.index(statement) + len(statement)


@pytest.mark.parametrize("text", ["", "for (", "x = 1", "do { } until (x);", "{ x;", "} x;"])
def test_a_statement_without_an_end(text: str) -> None:
    assert statement_end(text, 0) is None
