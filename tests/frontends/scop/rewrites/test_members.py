"""Members of structs: compiled functions leave the bytes that gcc's do."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from polysched.ir.expr.expressions import Constant
from polysched.ir.semantics.memory import AnyArray
from polysched.llvm.export.fallback import address_of
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

BODY = np.dtype([("x", "f8"), ("k", "i4"), ("p", "f4", 3), ("c", "i1")], align=True)
STRUCT = "typedef struct { double x; int k; float p[3]; char c; } body;\n"
IMAGE = np.dtype([("w", "i4"), ("h", "i4"), ("data", "u8"), ("gain", "f4")], align=True)


def bodies(count: int) -> AnyArray:
    """The bytes of some structs; numpy does not copy what lies between their members."""
    generator = np.random.default_rng(count)
    result = np.zeros(count, BODY)
    result["x"], result["k"] = generator.random(count), generator.integers(-9, 9, count)
    result["p"], result["c"] = generator.random((count, 3)), generator.integers(-9, 9, count)
    return np.frombuffer(result.tobytes(), np.uint8).copy()


@needs_gcc
@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) { b[i].x += b[i].k; b[i].p[i % 3] = b[i].c; }",
        "for (int i = 1; i < n; i++) b[i] = b[i - 1];",
        "for (int i = 0; i < n; i++) { body t = b[i]; t.x *= 2; t.c = 1; b[i] = t; }",
        "for (int i = 0; i + 1 < n; i++) { body *q = &b[i]; q->x = q[1].x; (*q).k++; }",
        "for (int i = 0; i + 1 < n; i++) { body *q = b + i; (q + 1)->p[1] -= q->p[0]; }",
        "for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++) b[i].x += b[i].p[k];",
        "for (int i = 0; i < n; i++) if (b[i].c > 0) b[i].k = -b[i].k; else b[i].x = 0;",
        "double s[2] = {0}; for (int i = 0; i < n; i++) s[i % 2] += b[i].x; b->x = s[0] - s[1];",
    ],
)
def test_arrays_of_structs(body: str, tmp_path: Path) -> None:
    text = f"{STRUCT}void f(int n, body *b)\n{{ {body} }}"
    calls = [(ctypes.c_int(n), bodies(max(n, 1))) for n in (0, 1, 2, 17)]
    assert_as_gcc(text, "f", tmp_path, *calls[("b->x" in body) :])


@needs_gcc
def test_two_pointers_to_structs_may_overlap(tmp_path: Path) -> None:
    text = f"""{STRUCT}void f(int n, body *a, const body *b)
    {{ for (int i = 0; i < n; i++) {{ a[i].x = b[i].x + 1; a[i].k = b[i].c; }} }}"""
    memory, size = bodies(20), BODY.itemsize
    calls = [
        (ctypes.c_int(9), memory[: 9 * size], memory[9 * size : 18 * size]),
        (ctypes.c_int(9), memory[size : 10 * size], memory[: 9 * size]),
        (ctypes.c_int(9), memory[: 9 * size], memory[: 9 * size]),
    ]
    program = assert_as_gcc(text, "f", tmp_path, *calls)
    assert ("a_x", "b_x") in program.apart
    assert ("a_x", "a_k") not in program.apart


@needs_gcc
def test_a_struct_with_sizes_and_a_pointer(tmp_path: Path) -> None:
    text = """typedef struct { int w, h; unsigned char *data; float gain; } image;
    void f(image *im) { for (int y = 0; y < im->h; y++) for (int x = 0; x < im->w; x++)
        im->data[y * im->w + x] = im->gain * im->data[y * im->w + x]; im->gain += 1; }"""
    pixels = np.arange(60, dtype=np.uint8)
    images = [(10, 6, pixels.ctypes.data, 1.5), (10, 0, 0, 1.5)]
    calls = [(np.frombuffer(np.array([one], IMAGE).tobytes(), np.uint8),) for one in images]
    program = assert_as_gcc(text, "f", tmp_path, *calls)
    sizes = {address_of("im_w"), address_of("im_h"), address_of("im_data")}
    assert {("im_data", one) for one in sizes} <= {*program.apart}


def test_members_are_arrays_with_strides() -> None:
    text = f"{STRUCT}void f(int n, body *b) {{ for (int i = 0; i < n; i++) b[i].p[1] = b[i].k; }}"
    arrays = parse_c(text).kernel.arrays
    assert arrays["b_p"].strides == (Constant(8), Constant(1))
    assert arrays["b_k"].strides == (Constant(8),)


def test_a_struct_by_value_is_rewritten_only() -> None:
    text = "struct v { float x; }; void f(struct v a, float y[1]) { y[0] = a.x; }"
    program = parse_c(text)
    with pytest.raises(FrontendError, match="'a' is a struct that is passed by value"):
        program.c_function()


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) { body *q = &b[i]; i++; q->x = 1; i--; }",
        "body *q = b; for (int i = 0; i < n; i++) { q->x = 1; q = b + i; }",
    ],
)
def test_pointers_that_move_are_refused(body: str) -> None:
    with pytest.raises(FrontendError):
        parse_c(f"{STRUCT}void f(int n, body *b) {{ {body} }}")


def test_the_report_says_which_structs_are_read_at_the_entry() -> None:
    text = "typedef struct { int n; float v[4]; } s; void f(s *a, s *b) { LOOP }"
    loop = "for (int i = 0; i < a->n && i < 4; i++) a->v[i] = b->v[i];"
    notes = parse_c(text.replace("LOOP", loop)).notes()
    assert notes[0] == (
        "assumed: 'a' is NULL or points to a struct at each call, also if no iteration uses it, "
        "because the call reads its sizes and pointers first"
    )
    assert not any("'b' is NULL" in note for note in notes)


@needs_gcc
@pytest.mark.parametrize(
    "body",
    [
        "while (n--) { *y++ = p->a + 2 * p->b; ++p; }",
        "for (int i = 0; i < n; i++, p++) { y[i] = p->a; p->b = i; }",
        "for (int i = 0; i < n; i++) { if (p->a > 3) { y[i] = p->b; p++; } else y[i] = -1; }",
        "pair *q = p; for (int i = 0; i < n; i++) { y[i] = q->a - (*q).b; q += 2; }",
        "pair *q = p; for (int i = 0; i < n; i++) { for (int k = 0; k < 2; k++, q++) "
        "y[i] += q->a * k; }",
        "pair *q, *r; q = r = p + n; while (n--) { y[n] = q->b; q++; p->a = r->a; ++p; }",
        "if (n < 1) return; pair *q = p + n; "
        "do { q->a = p->b; *y++ = p->a; ++q; p++; } while (--n);",
    ],
)
def test_pointers_that_walk_through_structs(body: str, tmp_path: Path) -> None:
    """Without their steps, every iteration read the first struct."""
    text = f"typedef struct {{ int a, b; }} pair;\nvoid f(int n, pair *p, int *y) {{ {body} }}"
    source = np.random.default_rng(4)
    pairs = source.integers(0, 9, (80, 2)).astype(np.int32)
    calls = [(ctypes.c_int(n), pairs, np.zeros(40, np.int32)) for n in (0, 1, 2, 17, 40)]
    assert_as_gcc(text, "f", tmp_path, *calls)


@needs_gcc
def test_arrays_of_structs_inside_structs(tmp_path: Path) -> None:
    text = """struct table { int count; struct { short a[2]; int b; } rows[3][8]; };
    void f(int n, struct table *t, int *y) {
        for (int i = 0; i < n && i < 8; i++) y[i] = t->rows[2][i].a[1] + t->rows[0][i].b;
    }"""
    data = np.random.default_rng(3).integers(0, 99, (1, 49)).astype(np.int32)
    calls = [(ctypes.c_int(n), data, np.zeros(8, np.int32)) for n in (0, 1, 5, 8)]
    assert_as_gcc(text, "f", tmp_path, *calls)
    program = parse_c(text)
    place = program.variables["t_rows_a"].place
    assert place is not None
    assert place.text == "t->rows[0][0].a"


@needs_gcc
def test_a_single_number_beside_a_pointer_in_an_array_of_structs(tmp_path: Path) -> None:
    """Its elements were taken for neighbors."""
    text = """struct other;
    struct table { long count; struct { short a; struct other *p; } rows[8]; };
    void f(int n, const struct table *t, int *y) {
        for (int i = 0; i < n && i < 8; i++) y[i] = t->rows[i].a;
    }"""
    data = np.random.default_rng(3).integers(0, 99, (1, 34)).astype(np.int32)
    assert_as_gcc(text, "f", tmp_path, (ctypes.c_int(8), data, np.zeros(8, np.int32)))


def test_a_pointer_to_structs_that_is_set_is_refused() -> None:
    text = """typedef struct { int a, b; } pair;
    void f(int n, pair *p, pair *q, int *y) {
        for (int i = 0; i < n; i++) { y[i] = p->a; p = i > 3 ? p : q; }
    }"""
    with pytest.raises(FrontendError):
        parse_c(text)
