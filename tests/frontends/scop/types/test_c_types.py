from __future__ import annotations

import ctypes
import itertools
import subprocess
from pathlib import Path

import pytest

from polysched.frontends.scop.declare.variables import typedefs_of
from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.text import source_text
from polysched.frontends.scop.types.c_types import (
    c_name,
    common_type,
    declared_type,
    promoted,
    type_range,
)
from polysched.ir.expr.dtypes import (
    ALL_DTYPES,
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    DType,
    boolean,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u32,
    u64,
)
from tests.frontends.scop.calling import needs_gcc

C_TYPES = (boolean, *INTEGER_DTYPES, *FLOAT_DTYPES)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("float", f32),
        ("double", f64),
        ("_Bool", boolean),
        ("char", i8),
        ("unsigned char", u8),
        ("short int", i16),
        ("unsigned", u32),
        ("long", i64),
        ("long long unsigned int", u64),
        ("int32_t", i32),
        ("size_t", u64),
        ("real", f32),
        ("const real", f32),
    ],
)
def test_names_of_types(text: str, dtype: DType) -> None:
    parsed = parse(source_text(f"typedef float real; {text} x;", "a.c"))
    node = parsed.tree.ext[-1]
    found = declared_type(node.type, typedefs_of(parsed.tree), parsed.source_map, node)
    assert found.dtype == dtype
    assert found.is_const == ("const" in text)


@pytest.mark.parametrize(
    ("text", "dims", "is_pointer", "is_restrict"),
    [
        ("double x[3]", 1, False, False),
        ("double x[2][3]", 2, False, False),
        ("double *x", 1, True, False),
        ("double *restrict x", 1, True, True),
        ("double (*x)[4]", 2, True, False),
    ],
)
def test_arrays_and_pointers(text: str, dims: int, is_pointer: bool, is_restrict: bool) -> None:
    parsed = parse(source_text(f"{text};", "a.c"))
    node = parsed.tree.ext[-1]
    found = declared_type(node.type, {}, parsed.source_map, node)
    assert (len(found.dims), found.is_pointer, found.is_restrict) == (dims, is_pointer, is_restrict)


@needs_gcc
def test_conversions_are_those_of_gcc(tmp_path: Path) -> None:
    """gcc says of every pair of types whether the result has the type that is expected."""
    lines = []
    for left, right in itertools.product(C_TYPES, repeat=2):
        expected = c_name(common_type(left, right))
        left_text, right_text = c_name(left), c_name(right)
        sum_text = f"({left_text})0 + ({right_text})0"
        text = f"_Generic({sum_text}, {expected}: 1, default: 0)"
        lines.append(f'_Static_assert({text}, "{sum_text}");')
    for dtype in C_TYPES:
        text = f"_Generic(+({c_name(dtype)})0, {c_name(promoted(dtype))}: 1, default: 0)"
        lines.append(f'_Static_assert({text}, "{c_name(dtype)}");')
    path = tmp_path / "types.c"
    path.write_text("\n".join(lines))
    subprocess.run(["gcc", "-std=c11", "-fsyntax-only", str(path)], check=True)


@pytest.mark.parametrize("dtype", [one for one in C_TYPES if one.is_integer], ids=str)
def test_ranges(dtype: DType) -> None:
    kind = getattr(ctypes, f"c_{'' if dtype.is_signed else 'u'}int{dtype.bits}")
    least, greatest = type_range(dtype)
    assert (kind(least).value, kind(greatest).value) == (least, greatest)
    assert kind(greatest + 1).value == least


def test_every_standard_type_has_a_name() -> None:
    assert all(c_name(dtype) for dtype in ALL_DTYPES if dtype in C_TYPES)
