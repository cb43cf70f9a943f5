"""Functions and their texts: where a node stands in the file, wherever the function is."""

import ast
import inspect

from polysched.frontends.python.source.function_source import function_source


def with_umlaut(x: "f32[n]"):  # noqa: F821
    return "ß" + x + "ß"


class Holder:
    @staticmethod
    def method():
        return "a" + "b"


def test_columns_are_those_of_characters() -> None:
    source = function_source(with_umlaut)
    statement = source.node.body[0]
    assert isinstance(statement, ast.Return)
    assert isinstance(statement.value, ast.BinOp)
    span = source.span(statement.value.left)
    assert span.source == '"ß" + x'
    assert span.path == __file__
    lines, first = inspect.getsourcelines(with_umlaut)
    assert span.line == first + 1
    assert span.text == lines[1].rstrip("\n")


def test_an_indented_definition_with_a_decorator() -> None:
    source = function_source(Holder.method)
    statement = source.node.body[0]
    assert isinstance(statement, ast.Return)
    assert statement.value is not None
    span = source.span(statement.value)
    assert span.source == '"a" + "b"'
    assert span.text.startswith(" " * 8 + "return")


def test_a_node_on_several_lines_is_shown_by_its_first() -> None:
    source = function_source(test_columns_are_those_of_characters)
    assert source.span(source.node).text == source.lines[0]


def test_names_from_around() -> None:
    factor, later = 3, None

    def function():
        return factor, later, unknown, print  # noqa: F821

    outer = function_source(function).outer
    assert outer["factor"] == 3
    assert outer["print"] is print
    assert outer["Holder"] is Holder
    assert "unknown" not in outer
