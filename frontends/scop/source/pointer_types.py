"""Write out the pointer types that typedefs name.

::

    typedef unsigned char *JSAMPROW;         void f(unsigned char **rows);
    typedef JSAMPROW *JSAMPARRAY;
    void f(JSAMPARRAY rows);
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

from pycparser import c_ast

from polysched.frontends.scop.source.trees import mapped, walk


def with_pointer_types(tree: c_ast.FileAST) -> c_ast.FileAST:
    """Replace the typedefs of pointers in declarations by the pointer types."""
    pointers: dict[str, c_ast.PtrDecl] = {}
    for node in tree.ext:
        if isinstance(node, c_ast.Typedef):
            type_ = _written_out(node.type, pointers)
            inner = type_
            while isinstance(inner, c_ast.PtrDecl):
                inner = inner.type
            if inner is not type_ and isinstance(inner, c_ast.TypeDecl):
                pointers[node.name] = type_
    if not pointers:
        return tree
    for node in walk(tree):
        if isinstance(node, c_ast.Typedef) and node not in tree.ext:
            pointers.pop(node.name, None)  # a block gives the name another meaning
    return _written_out(tree, pointers)


def _written_out(node: c_ast.Node, pointers: Mapping[str, c_ast.PtrDecl]) -> c_ast.Node:
    if isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.IdentifierType):
        meaning = pointers.get(" ".join(node.type.names))
        return node if meaning is None else _declaring(meaning, node)
    return mapped(node, lambda child: _written_out(child, pointers))


def _declaring(type_: c_ast.Node, declared: c_ast.TypeDecl) -> c_ast.Node:
    """Return a pointer type that declares a name; its qualifiers are those of the pointer."""
    result = copy.copy(type_)
    if isinstance(type_, c_ast.PtrDecl):
        result.type = _inside(type_.type, declared)
        result.quals = [*(type_.quals or ()), *(declared.quals or ())]
    return result


def _inside(type_: c_ast.Node, declared: c_ast.TypeDecl) -> c_ast.Node:
    result = copy.copy(type_)
    if isinstance(type_, c_ast.PtrDecl):
        result.type = _inside(type_.type, declared)
    else:
        result.declname, result.coord = declared.declname, declared.coord
    return result
