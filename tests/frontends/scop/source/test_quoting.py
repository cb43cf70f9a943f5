from __future__ import annotations

from pycparser import c_ast, c_generator

from polysched.frontends.scop.source.quoting import c_expression, c_statement, variable


def _text(node: c_ast.Node) -> str:
    return " ".join(str(c_generator.CGenerator().visit(node)).split())


def test_parts_stand_for_the_names_of_a_text() -> None:
    at = c_ast.ID("x", "here")
    count = c_expression("end - first", at, end=c_ast.ID("n"), first=c_ast.Constant("int", "1"))
    loop = c_statement("for (long t = 0; t < m; t++) body;", at, t="t_2", m=count, body=at)
    assert _text(loop) == "for (long t_2 = 0; t_2 < (n - 1); t_2++) x;"
    assert loop.stmt is at
    assert (loop.coord, loop.cond.coord, count.right.coord) == ("here", "here", None)


def test_a_text_is_not_changed_by_its_parts() -> None:
    at = c_ast.ID("x", "here")
    assert _text(c_expression("a + b", at, a="c")) == "c + b"
    assert _text(c_expression("a + b", at)) == "a + b"


def test_a_variable_has_the_type_of_another_one() -> None:
    at = c_ast.ID("x")
    number = c_statement("int n = 0;", at)
    pointer = c_statement("const float *p;", at)
    assert _text(variable("m", number.type, at, at, "const")) == "const int m = x"
    assert _text(variable("q", pointer.type, at, at)) == "const float *q = x"
