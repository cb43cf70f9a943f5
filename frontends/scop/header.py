"""Write a header that declares a C function for the other files of a program."""

from __future__ import annotations

from pathlib import Path

from pycparser import c_ast, c_generator

from polysched.errors import FrontendError
from polysched.frontends.scop.declare.variables import typedefs_of
from polysched.frontends.scop.rewrites.region import functions_of
from polysched.frontends.scop.source.parse import ParsedSource, parse
from polysched.frontends.scop.source.promises import Promises
from polysched.frontends.scop.source.text import read_source
from polysched.frontends.scop.source.trees import mapped, walk
from polysched.frontends.scop.types.c_types import Typedefs, c_name, declared_type


def function_header(path: Path, function: str | None, promises: Promises) -> str:
    """Return a header for C99 and C++ with the declaration of a function.

    It names numbers by C's own types, so that it needs no other header. ``restrict`` is left out,
    because C++ has no such word.

    Args:
        function: the function; None for the only one of the file.
        promises: options of the preprocessor.

    Raises:
        FrontendError: the file cannot be parsed, or the declaration uses a type of the file.
    """
    parsed = parse(read_source(path, promises.preprocessor), function, skips_refused=True)
    functions = functions_of(parsed)
    names = [name for name, function in functions.items() if "static" not in function.decl.storage]
    names = names if function is None else [function]
    if len(names) != 1:
        raise FrontendError(
            f"{path} defines {len(names)} functions; the header declares one: name it, as in "
            f"{path}:NAME"
        )
    (name,) = names
    if name not in functions:
        raise parsed.refused.get(name) or FrontendError(f"{path} defines no function '{name}'")
    found = functions[name]
    typedefs = typedefs_of(parsed.tree)
    type_ = _plain(found.decl.type, parsed, typedefs, found.decl)
    declared = c_ast.Decl(name, [], [], [], [], type_, None, None, found.decl.coord)
    text = c_generator.CGenerator().visit(declared)
    tags = {node.name: None for node in walk(type_) if isinstance(node, c_ast.Struct)}
    guard = f"POLYSCHED_{name}_H".upper()
    lines = [
        f"/* {name} of {path.name}. Made by polysched. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        *(["#else", "#include <stdbool.h>"] if "bool" in text.split() else []),
        "#endif",
        "",
        *(f"struct {tag};" for tag in tags),
        f"{text};",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
    ]
    return "\n".join(lines) + "\n"


def _plain(
    node: c_ast.Node, parsed: ParsedSource, typedefs: Typedefs, at: c_ast.Node
) -> c_ast.Node:
    """Return a type without ``restrict``, typedefs of numbers and the members of structs."""
    at = node if isinstance(node, c_ast.Decl) else at
    match node:
        case c_ast.IdentifierType(names=[name]) if name in typedefs:
            type_ = typedefs[name].type
            if isinstance(type_, c_ast.TypeDecl) and isinstance(type_.type, c_ast.Struct):
                return _plain(type_.type, parsed, typedefs, at)
            ctype = declared_type(type_, typedefs, parsed.source_map, at)
            if ctype.dtype is None or ctype.dims:
                raise _own_type(parsed, at, name)
            return c_ast.IdentifierType([c_name(ctype.dtype).replace("_Bool", "bool")])
        case c_ast.Struct(name=None):
            raise _own_type(parsed, at, "a struct without a tag")
        case c_ast.Struct(name=name):
            return c_ast.Struct(name, None, node.coord)
        case c_ast.PtrDecl(quals=quals, type=inner):
            kept = [word for word in quals if "restrict" not in word]
            return c_ast.PtrDecl(kept, _plain(inner, parsed, typedefs, at), node.coord)
        case c_ast.ArrayDecl(type=inner, dim=dim):
            return c_ast.ArrayDecl(_plain(inner, parsed, typedefs, at), dim, [], node.coord)
    return mapped(node, lambda child: _plain(child, parsed, typedefs, at))


def _own_type(parsed: ParsedSource, at: c_ast.Node, name: str) -> FrontendError:
    return parsed.source_map.error(
        at,
        f"the header cannot declare this: its type is {name}, which only the file defines; "
        "expected numbers, arrays and structs with tags, or leave out --header",
    )
