"""C types as dtypes, and C's implicit conversions.

The sizes are those of 64-bit Linux: ``int`` has 32 bits, ``long`` 64, ``char`` is signed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pycparser import c_ast

from polysched.frontends.scop.source.source_map import SourceMap
from polysched.ir.expr.dtypes import (
    DType,
    NumberKind,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)

_HALVES: Mapping[str, DType] = MappingProxyType({"_Float16": f16, "__bf16": bf16})
_ONLY_ON_ARM = "__fp16"
Typedefs = Mapping[str, c_ast.Typedef]

_SIGNED_TYPES: Mapping[tuple[int, int], DType] = MappingProxyType(
    {(0, 0): i32, (1, 0): i16, (0, 1): i64, (0, 2): i64}
)
_UNSIGNED: Mapping[DType, DType] = MappingProxyType({i8: u8, i16: u16, i32: u32, i64: u64})


@dataclass(frozen=True)
class CType:
    """Type of a declaration: a number, an array or a pointer.

    Attributes:
        dtype: the type of an element; None for ``void``.
        dims: the extents of an array, outermost first; None for an extent that is not declared.
        is_pointer: whether the outermost dimension is declared as a pointer.
        is_const: whether the elements are const.
        is_restrict: whether the pointer is declared restrict.
    """

    dtype: DType | None
    dims: tuple[c_ast.Node | None, ...] = ()
    is_pointer: bool = False
    is_const: bool = False
    is_restrict: bool = False


def declared_type(
    node: c_ast.Node, typedefs: Typedefs, source_map: SourceMap, at: c_ast.Node
) -> CType:
    """Return the type of a declaration.

    Args:
        at: the declaration that messages underline.
    """
    match node:
        case c_ast.TypeDecl(type=inner, quals=quals):
            if "volatile" in (quals or ()):
                raise source_map.error(
                    at, "a volatile variable; expected a variable whose accesses may be reordered"
                )
            return _qualified(declared_type(inner, typedefs, source_map, at), quals)
        case c_ast.IdentifierType(names=[name]) if name in typedefs:
            return _of_typedef(name, typedefs, source_map, at)
        case c_ast.IdentifierType(names=names):
            return CType(_named(tuple(names), source_map, at))
        case c_ast.ArrayDecl(type=inner, dim=dim, dim_quals=quals):
            element = declared_type(inner, typedefs, source_map, at)
            if element.is_pointer:
                raise source_map.error(at, "an array of pointers; expected an array of numbers")
            is_restrict = "restrict" in (quals or ())
            return CType(element.dtype, (dim, *element.dims), False, element.is_const, is_restrict)
        case c_ast.PtrDecl(type=inner, quals=quals):
            target = declared_type(inner, typedefs, source_map, at)
            if target.is_pointer:
                raise source_map.error(
                    at, "a pointer to pointers; expected an array such as 'double A[n][m]'"
                )
            is_restrict = "restrict" in (quals or ())
            return CType(target.dtype, (None, *target.dims), True, target.is_const, is_restrict)
        case c_ast.Struct() | c_ast.Union():
            raise source_map.error(at, "a struct or union; expected numbers, or arrays of numbers")
        case c_ast.Enum():
            return CType(_of_enumeration(node, source_map, at))
        case c_ast.FuncDecl():
            raise source_map.error(at, "a function; expected a number, or an array of numbers")
    raise source_map.error(
        at, "this type is not supported; expected a number or an array of numbers"
    )


def _of_enumeration(node: c_ast.Enum, source_map: SourceMap, at: c_ast.Node) -> DType:
    """Return the type of an enumeration, as gcc and clang choose it on Linux."""
    values = (
        [] if node.values is None else [enumerator.value for enumerator in node.values.enumerators]
    )
    negative = [isinstance(value, c_ast.UnaryOp) and value.op == "-" for value in values]
    numbers = [
        value.expr if below else value for value, below in zip(values, negative, strict=True)
    ]
    if not values or not all(number is None or _is_narrow(number) for number in numbers):
        raise source_map.error(
            at,
            "a variable of an enumeration, whose type follows from its values (gcc: unsigned int "
            "if none is negative); expected literals in its definition, or int or unsigned int",
        )
    return i32 if any(negative) else u32


def _is_narrow(node: c_ast.Node) -> bool:
    """Whether a node is a literal that 32 bits hold."""
    return isinstance(node, c_ast.Constant) and len(node.value) < 10 + node.value.startswith("0x")


def _of_typedef(name: str, typedefs: Typedefs, source_map: SourceMap, at: c_ast.Node) -> CType:
    if name in _HALVES:
        return CType(_HALVES[name])
    if name == _ONLY_ON_ARM:
        raise source_map.error(at, f"type '{name}' is not supported; expected _Float16 or float")
    return declared_type(typedefs[name].type, typedefs, source_map, at)


def _qualified(ctype: CType, quals: list[str] | None) -> CType:
    return replace(ctype, is_const=ctype.is_const or "const" in (quals or ()))


def _named(names: tuple[str, ...], source_map: SourceMap, at: c_ast.Node) -> DType | None:
    count = Counter(names)
    shown = " ".join(names)
    simple = {
        ("void",): None,
        ("float",): f32,
        ("double",): f64,
        ("_Bool",): boolean,
        ("char",): i8,
    }
    if names in simple:
        return simple[names]
    if count.keys() <= {"signed", "unsigned", "char", "short", "long", "int"}:
        base = i8 if count["char"] else _SIGNED_TYPES.get((count["short"], count["long"]))
        if base is not None:
            return _UNSIGNED[base] if count["unsigned"] else base
    raise source_map.error(
        at,
        f"type '{shown}' is not supported; expected float, double, _Float16, __bf16, _Bool or an "
        "integer type",
    )


def promoted(dtype: DType) -> DType:
    """Apply C's integer promotion: types narrower than ``int`` become ``int``."""
    if dtype.kind is NumberKind.BOOLEAN or (dtype.is_integer and dtype.bits < 32):
        return i32
    return dtype


def common_type(left: DType, right: DType) -> DType:
    """Return the type of a binary operation: C's usual arithmetic conversions (6.3.1.8).

    C has no common type of ``_Float16`` and ``__bf16``; here it is float.
    """
    halves = {dtype for dtype in (left, right) if dtype.is_float}
    if len(halves) == 1 and all(dtype.is_half for dtype in halves):
        return halves.pop()
    if left.is_float or right.is_float:
        return f64 if f64 in (left, right) else f32
    left, right = promoted(left), promoted(right)
    if left.bits != right.bits:
        return max(left, right, key=lambda dtype: dtype.bits)
    return right if left.is_signed else left


def type_range(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type."""
    if not dtype.is_signed:
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


def c_name(dtype: DType) -> str:
    """Return the C name of a type, for messages."""
    names = {
        bf16: "__bf16",
        f16: "_Float16",
        f32: "float",
        f64: "double",
        boolean: "_Bool",
        i8: "char",
        i16: "short",
        i32: "int",
        i64: "long",
    }
    if dtype in names:
        return names[dtype]
    return f"unsigned {names[DType(NumberKind.SIGNED, dtype.bits)]}"


def may_alias(first: DType, second: DType) -> bool:
    """Whether C's aliasing rules let two pointers to numbers lead to the same object (6.5)."""
    same_size = (first.is_float, first.bits) == (second.is_float, second.bits)
    return same_size or bool({first, second} & {i8, u8})
