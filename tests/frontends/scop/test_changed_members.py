"""Written arrays over the struct whose members the loops read: C reads a member at each use."""

from __future__ import annotations

import ctypes
import faulthandler
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from polysched.errors import FrontendError
from polysched.frontends.scop import load_c, parse_c
from polysched.frontends.scop.program import CProgram
from polysched.ir.semantics.memory import AnyArray
from polysched.llvm.export.fallback import address_of
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import compiled_by_gcc, compiled_by_polysched, needs_gcc
from tests.support.children import holds_in_child

STRUCT = "typedef struct { short a, k, n; short pad; signed char *p; } s;\n"
_STRUCT_AT = 24
VALUES = {
    "product": "for (int i = 0; i < n; i++) y[i] = x[i] * c->a;",
    "choice": "for (int i = 0; i < n; i++) if (c->k > 2) y[i] = x[i] - c->a; else y[i] = c->k;",
    "copied": "int t = c->a; for (int i = 0; i < n; i++) { int u = c->k; y[i] = t; y[i] += u; }",
}
SIZES = {
    "bound": "for (int i = 0; i < c->n && i < n; i++) y[i] = x[i] + 1;",
    "subscript": "for (int i = 0; i < n; i++) y[i] = x[i * c->n] + 1;",
    "pointer": "for (int i = 0; i < n; i++) y[i] = c->p[i];",
}
COPIED = "int m = c->n; for (int i = 0; i < m && i < n; i++) y[i] = x[i] + 1;"


def _function(body: str) -> str:
    type_ = "signed char" if "p[i]" in body else "short"
    return f"{STRUCT}void f(const s *c, const short *x, {type_} *y, int n) {{ {body} }}"


def _memory() -> AnyArray:
    """Numbers at a multiple of 512 bytes, where a pointer of another last byte still leads."""
    memory = np.zeros(1024, np.int16)
    start = -memory.ctypes.data % 512 // 2
    return memory[start : start + 256]


def _called(library: ctypes.CDLL, memory: AnyArray, at: int, n: int) -> list[int]:
    """The memory after a call that writes `n` numbers, the first one `at` numbers after the struct.

    The last member of the struct points to the start of the memory.
    """
    memory.view(np.uint8)[:] = np.arange(3, 3 + 2 * memory.size) % 251
    memory[_STRUCT_AT : _STRUCT_AT + 4] = 5, 7, 3, 0
    start = memory.ctypes.data
    memory[_STRUCT_AT + 4 : _STRUCT_AT + 8].view(np.int64)[0] = start
    offsets = (2 * _STRUCT_AT, 0, 2 * (_STRUCT_AT + at))
    library.f(*(ctypes.c_void_p(start + offset) for offset in offsets), n)
    return memory.tolist()


def _libraries(body: str, folder: Path) -> tuple[CProgram, ctypes.CDLL, ctypes.CDLL]:
    source = folder / "f.c"
    source.write_text(_function(body))
    program = load_c(source)
    mine = compiled_by_polysched(Schedule(program.kernel), program.c_function(), folder)
    return program, mine, compiled_by_gcc(source, folder)


@needs_gcc
@pytest.mark.parametrize("body", [*VALUES.values(), COPIED], ids=[*VALUES, "size"])
def test_values_are_read_at_each_use(body: str, tmp_path: Path) -> None:
    program, mine, theirs = _libraries(body, tmp_path)
    memory = _memory()
    for at in range(-9, 4):
        assert _called(mine, memory, at, 6) == _called(theirs, memory, at, 6), at
    fallback = program.c_function().fallback
    assert fallback is not None
    assert not fallback.read_once


@needs_gcc
@pytest.mark.parametrize("body", SIZES.values(), ids=SIZES)
def test_a_store_to_a_size_ends_the_process(
    body: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, mine, theirs = _libraries(body, tmp_path)
    memory = _memory()
    (first, end), width = ((8, 16), 1) if "p[i]" in body else ((4, 6), 2)
    for at in range(-3, 9):
        overlaps = 2 * at < end and first < 2 * at + 2 * width
        expected = None if overlaps else _called(theirs, memory, at, 2)

        def is_as_expected(at: int = at, expected: list[int] | None = expected) -> bool:
            faulthandler.disable()  # an abort is what the test expects
            return _called(mine, memory, at, 2) == expected

        is_right = holds_in_child(is_as_expected)
        assert is_right != overlaps, at
        message = "f: an array that it writes overlaps a size or a pointer of a struct"
        assert (message in capfd.readouterr().err) == overlaps


@needs_gcc
def test_rewritten_programs_read_pointers_at_each_use(tmp_path: Path) -> None:
    source, rewritten = tmp_path / "f.c", tmp_path / "rewritten.c"
    source.write_text(_function(SIZES["pointer"]))
    result = CliRunner().invoke(main, ["rewrite", str(source), "-o", str(rewritten)])
    assert result.exit_code == 0, result.output
    assert "calls polysched_" in result.output
    mine, theirs = compiled_by_gcc(rewritten, tmp_path), compiled_by_gcc(source, tmp_path)
    memory = _memory()
    for at in (-4, -1, 0, 1, 2, 3):
        assert _called(mine, memory, at, 4) == _called(theirs, memory, at, 4), at


def test_stores_to_unknown_elements_beside_sizes_are_refused() -> None:
    body = "int k = 0; for (int i = 0; i < c->n; i++) if (x[i] > 0) y[k++] = x[i];"
    with pytest.raises(FrontendError, match="its stores may change 'c->n', which the object reads"):
        parse_c(_function(body)).c_function()


def test_only_what_is_read_after_a_store_is_compared() -> None:
    assert parse_c(_function(SIZES["bound"])).apart == (("x", "y"), ("y", address_of("c_n")))
    assert parse_c(_function(COPIED)).apart == (("x", "y"),)
