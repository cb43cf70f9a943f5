"""C interface of a kernel: allowed names, and the header."""

from __future__ import annotations

import ctypes
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from polysched.errors import ExportError
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.packing import Rows
from polysched.ir.core.printing import strides_text
from polysched.ir.expr.comparisons import display
from polysched.ir.expr.dtypes import NumberKind, u8
from polysched.loops.printers.c_helpers import c_type
from polysched.loops.printers.c_names import CPP_KEYWORDS, KEYWORDS
from polysched.runtime.signature import Signature, shape_text

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STANDARD_INTEGERS = re.compile(r"u?int\w*_t|size_t|U?INT\w*_(MIN|MAX|C)|SIZE_MAX|NULL")


_STATUS = (
    "Returns 0 on success, 1 if it cannot allocate its workspace, and 2 if the processor lacks an "
    "instruction set that the code uses. If it returns 1 or 2, it has written nothing."
)
_SUPPORTED = (
    "Returns 1 if the processor and the operating system have all instruction sets that the code "
    "uses, else 0. They are asked once, at the first call of either function."
)
_MEMORY = (
    "Arrays are contiguous, the last index running fastest, each at an address that is a multiple "
    "of its element's size (of 64: fastest). A written array overlaps no other array."
)
_STRIDES = (
    "Strides count elements: an element lies at the sum of its indices times their strides. No two "
    "elements overlap. Memory between elements is neither read nor written."
)
_CALLER = (
    "The caller must ensure these requirements. The function checks none of them; its behavior is "
    "undefined if one is violated."
)


_ROWS = MappingProxyType(
    {
        Rows.PADDED: "and every row begins at a byte",
        Rows.CONTIGUOUS: "and the next row begins at the bit behind it",
    }
)


@dataclass(frozen=True)
class Linkage:
    """Description of the code, for the header.

    Attributes:
        target: the processor of the compiled code, or how to compile for it.
        threads: the number of threads of a call.
        link: the libraries to link with it.
    """

    target: str
    threads: str
    link: str


def require_c_names(signature: Signature) -> None:
    """Check that C and C++ can name the kernel, its arrays and its parameters.

    Raises:
        ExportError: a name is not an identifier there or is taken by the language, or the kernel's
            name is taken by the C library.
    """
    named = [("kernel", signature.name)]
    named += [("array", name) for name in signature.array_names]
    named += [("parameter", name) for name in signature.parameters]
    for kind, name in named:
        if not _IDENTIFIER.fullmatch(name):
            raise ExportError(
                f"{kind} '{name}' has a name that C cannot write; expected the letters A to Z and "
                "a to z, digits and '_': choose another name"
            )
        if name in KEYWORDS | CPP_KEYWORDS or _STANDARD_INTEGERS.fullmatch(name):
            raise ExportError(
                f"{kind} '{name}' has the name of a keyword or a standard type of C or C++; choose "
                "another name"
            )
    if signature.name == "main" or hasattr(ctypes.CDLL(None), signature.name):
        raise ExportError(
            f"kernel '{signature.name}' has the name of a function of the C library or the "
            "program, and would take its place; choose another name"
        )


def header_text(signature: Signature, linkage: Linkage) -> str:
    """A header for C99 and C++ that declares the function and documents how to call it."""
    name = signature.name
    guard = f"POLYSCHED_{name}_H".upper()
    has_booleans = any(array.dtype.kind is NumberKind.BOOLEAN for array in signature.arrays)
    stdbool = ["#ifndef __cplusplus", "#include <stdbool.h>", "#endif"] if has_booleans else []
    lines = [
        *_comment([f"{signature}", "", f"Made by polysched. {_plain(linkage.target)}"]),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *stdbool,
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_comment(_description(signature, linkage)),
        f"int {name}({prototype(signature)});",
        "",
        *_comment([_SUPPORTED]),
        f"int {name}_supported(void);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
    ]
    return "\n".join(lines) + "\n"


def prototype(signature: Signature) -> str:
    """The arguments of the function in C."""
    arrays = [f"{_element(array)} *{array.name}" for array in signature.arrays]
    return ", ".join([*arrays, *(f"int64_t {name}" for name in signature.parameters)]) or "void"


def _element(array: Array) -> str:
    element = c_type(u8 if array.is_packed else array.dtype)
    return f"{'const ' if array.role is Role.INPUT else ''}{element}"


def _description(signature: Signature, linkage: Linkage) -> list[str]:
    """The documentation of the function, as paragraphs."""
    paragraphs = [_STATUS]
    if signature.arrays:
        memory = f"{_MEMORY} {_STRIDES}" if signature.has_strides else _MEMORY
        paragraphs += ["", memory, *_listed(map(_array, signature.arrays))]
    promises = [
        *(condition.text for condition in signature.conditions),
        *(text for array in signature.arrays for text in _values(array)),
    ]
    if promises:
        paragraphs += ["", "Required values:", *_listed(promises)]
    if signature.arrays or promises:
        paragraphs += [_CALLER]
    return [*paragraphs, "", linkage.threads, "", linkage.link]


def _array(array: Array) -> str:
    if array.rows is not None:
        return (
            f"{array.name}: {array.role.value}, {array.dtype}{shape_text(array)} packed in bytes; "
            f"element k of a row takes the {array.dtype.bits} bits from bit {array.dtype.bits} k "
            f"on, its lowest bit first, {_ROWS[array.rows]}"
        )
    shape = shape_text(array) if array.shape else " (one element)"
    element = c_type(array.dtype)
    if array.dtype.is_half:
        element = f"the bits of {array.dtype} in {element}"
    return f"{array.name}: {array.role.value}, {element}{shape}{strides_text(array)}"


def _values(array: Array) -> Iterator[str]:
    """The condition on an index array's values."""
    if array.values is not None:
        lower, upper = map(display, array.values)
        yield f"{lower} <= value < {upper} for every value in {array.name}"


def _listed(items: Iterable[str]) -> list[str]:
    return [f"  {item}" for item in items]


def _comment(paragraphs: Sequence[str]) -> list[str]:
    lines = [line for text in paragraphs for line in _wrapped(text)]
    return ["/*", *(f" * {line}".rstrip() for line in lines), " */"]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 96, subsequent_indent=" " * 4 * text.startswith(" ")) or [""]


def _plain(text: str) -> str:
    """Text without characters that begin or end a C comment."""
    return " ".join(text.split()).replace("*", "x")
