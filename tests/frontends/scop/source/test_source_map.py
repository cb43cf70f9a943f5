from __future__ import annotations

import pytest
from pycparser import c_ast

from polysched.frontends.scop.source.parse import ParsedSource, parse
from polysched.frontends.scop.source.text import source_text


def expression(text: str) -> tuple[ParsedSource, c_ast.Node]:
    parsed = parse(source_text(f"void f(void) {{ y = {text}; }}", "a.c"))
    return parsed, parsed.tree.ext[-1].body.block_items[0].rvalue


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "12.5e-3f",
        "a + b * c",
        "(a + b) * (c - d)",
        "A[i + 1][f(j)]",
        "-x[i]",
        "!(a && b)",
        "- ( a )",
        "f((a), (b))",
        "g()",
        "(float)(a + b)",
        "c ? (a) : b[2]",
        "*p",
        "*(p + 1)",
        "i++",
        "--i",
        "sizeof(int)",
        "s.x",
        "a = b[i]",
        "0x1p-3",
    ],
)
def test_an_expression_is_found_from_end_to_end(text: str) -> None:
    parsed, node = expression(text)
    assert parsed.source_map.text(node) == text
    span = parsed.source_map.span(node)
    assert span.source == text
    assert (span.line, span.column) == (1, 20)


def test_a_part_between_brackets() -> None:
    parsed, node = expression("(a + (b)) * c")
    assert parsed.source_map.text(node.left) == "a + (b)"
    assert parsed.source_map.text(node.left.right) == "b"


def test_of_several_lines_the_first_is_shown() -> None:
    parsed, node = expression("a +\n   b")
    assert parsed.source_map.text(node) == "a + b"
    assert parsed.source_map.span(node).source == "a +"
