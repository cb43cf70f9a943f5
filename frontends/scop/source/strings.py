"""String literals that initialize arrays, as lists of characters.

::

    static const char digits[] = "01";      static const char digits[] = {48, 49, 0};
"""

from __future__ import annotations

import re

from pycparser import c_ast

from polysched.frontends.scop.source.trees import mapped

_CHARACTER = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]+|.)|(.)", re.DOTALL)
LONGEST = 64
"""Largest number of elements of a listed string: each becomes a statement of the kernel. A longer
array of the file is a variable that the kernel reads.
"""
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}


def with_listed_strings(node: c_ast.Node) -> c_ast.Node:
    """Replace the string literals that initialize arrays of characters."""
    match node:
        case c_ast.Decl(
            type=c_ast.ArrayDecl(dim=dim), init=c_ast.Constant(type="string", value=text)
        ) if text.startswith('"') and text.isascii():
            values = [*_values(text[1:-1]), 0]
            if isinstance(dim, c_ast.Constant) and dim.value == str(len(values) - 1):
                values.pop()  # the array has no room for the 0
            if len(values) > LONGEST:
                return node
            elements = [c_ast.Constant("int", str(value), node.init.coord) for value in values]
            node.init = c_ast.InitList(elements, node.init.coord)
            return node
    return mapped(node, with_listed_strings)


def _values(text: str) -> list[int]:
    """Return the bytes of a string literal as values of ``char``."""
    values = []
    for escape, plain in _CHARACTER.findall(text):
        if plain:
            value = ord(plain)
        elif escape[0] == "x":
            value = int(escape[1:], 16) & 255
        elif escape[0].isdigit():
            value = int(escape, 8) & 255
        else:
            value = _ESCAPES.get(escape, ord(escape))
        values.append(value - 256 if value > 127 else value)
    return values
