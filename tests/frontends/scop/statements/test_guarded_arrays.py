"""Pointers that are accessed only if data say so: nothing else of their memory is touched."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from polysched.autoscheduler.driver import optimize_schedule
from polysched.errors import ScheduleError
from polysched.frontends.scop import load_c, parse_c
from polysched.ir.semantics.memory import AnyArray
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import compiled_by_gcc, compiled_by_polysched, needs_gcc
from tests.support.fenced import fenced

# Each function runs under the condition x[i] > 0, and may access y[i] and z[i] only there.
FUNCTIONS = {
    "branches": "void branches(int n, const int *x, int *y, int *z) { for (int i = 0; i < n; i++) "
    "{ if (x[i] > 0) { y[i] += x[i]; z[i] = y[i] * 3; } } }",
    "joined": "int joined(int n, const int *x, const int *y, int *z) { int c = 0; "
    "for (int i = 0; i < n; i++) { if (x[i] > 0 && y[i] > 2) c++; "
    "if (!(x[i] <= 0 || y[i] < 0)) z[i] = c; } return c; }",
    "locals": "void locals(int n, const int *x, const int *y, int *z) { "
    "for (int i = 0; i < n; i++) { int v = x[i] + 7; if (v > 7) { int w = y[i]; "
    "if (w > v) z[i] = v; else if (z[i] > 3) z[i] -= w; } } }",
    "chosen": "void chosen(int n, const int *x, const int *y, int *o) { "
    "for (int i = 0; i < n; i++) o[i] = x[i] > 0 ? y[i] * 2 : x[i]; }",
    "bytes": "void bytes(int n, const unsigned char *x, unsigned char *y, unsigned char *z) { "
    "for (int i = 0; i < n; i++) if (x[i] > 0) { y[i] = 255; z[i] += x[i] + y[i]; } }",
    "strided": "void strided(int n, const int *x, const int *y, int *o) { "
    "for (int i = 0; i < n; i++) o[i] = x[i] > 0 ? y[2 * i] - y[2 * i + 1] : 3; }",
    "window": "void window(int n, const int *x, const int *y, int *o) { "
    "for (int i = 0; i < n; i++) o[i] = x[i] > 0 ? y[i] + y[i + 1] + y[i + 2] : 3; }",
    "table": "void table(int n, const unsigned char *x, const unsigned char *restrict y, "
    "unsigned char *restrict o) { for (int i = 0; i < n; i++) o[i] = y[x[i]]; }",
    "indices": "void indices(int n, const int *x, const int *restrict y, int *restrict z) { "
    "for (int i = 0; i < n; i++) if (x[i] > 0) z[y[i] & 3] += x[i]; }",
}


@needs_gcc
@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_selected_elements_are_accessed(name: str, tmp_path: Path) -> None:
    source = tmp_path / f"{name}.c"
    source.write_text(FUNCTIONS[name])
    program, expected = load_c(source, name), compiled_by_gcc(source, tmp_path)
    found = optimize_schedule(Schedule(program.kernel), load_machine("host"))
    assert found.schedule != found.start or name in ("joined", "indices")
    mine = compiled_by_polysched(found.schedule, program.c_function(), tmp_path)
    dtype = np.uint8 if name in ("bytes", "table") else np.int32
    for n, selected in [(1, 0), (1, 1), (40, 0), (40, 3), (40, 40), (151, 70), (151, 151)]:
        generator = np.random.default_rng(n + selected)
        x = generator.integers(1, 9, n).astype(dtype)
        x[selected:] = 0
        rest = [
            generator.integers(0, 9, extent).astype(dtype) for extent in _extents(name, n, selected)
        ]
        assert _called(mine[name], n, x, *rest) == _called(expected[name], n, x, *rest)


def _extents(name: str, n: int, selected: int) -> tuple[int, int]:
    """The elements of the second and third array that the function accesses."""
    match name:
        case "chosen":
            return selected, n
        case "strided":
            return 2 * selected, n
        case "window":
            return selected + 2 if selected else 0, n
        case "table":
            return 9, n
        case "indices":
            return selected, 4 if selected else 0
    return selected, selected


def _called(function: object, n: int, *arrays: AnyArray) -> list[bytes]:
    assert callable(function)
    with ExitStack() as stack:
        placed = [stack.enter_context(fenced(array)) for array in arrays]
        function(ctypes.c_int(n), *(ctypes.c_void_p(address) for address, _ in placed))
        return [copy.tobytes() for _, copy in placed]


def test_the_extents_that_data_may_reach() -> None:
    text = "void f(int n, const int *x, float *y, int *h) { for (int i = 0; i < n; i++) {{ {} }} }"
    inner = "if (x[i]) y[2 * i] = 1; h[(unsigned char)x[i]]++;"
    program = parse_c(text.replace("{{ {} }}", f"{{ {inner} }}"))
    arrays = program.kernel.arrays
    assert {name for name, array in arrays.items() if array.guarded} == {"y", "h"}
    assert str(arrays["y"].shape[0]) == "((2 * n) - 1)"
    assert any("only elements that the data selects" in line for line in program.notes())


def test_bytes_as_subscripts_bound_an_extent() -> None:
    text = (
        "void f(int n, const unsigned char *x, int *h) { for (int i = 0; i < n; i++) h[x[i]]++; }"
    )
    program = parse_c(text)
    assert str(program.kernel.arrays["h"].shape[0]) == "256"
    assert not program.unlimited


def test_a_guarded_array_is_not_copied() -> None:
    text = "void f(int n, const int *x, int *y) { for (int i = 0; i < n; i++) if (x[i]) y[i] = 1; }"
    with pytest.raises(ScheduleError, match=r"they cannot be copied; .* as in 'y\[n\]'"):
        Schedule(parse_c(text).kernel).pack("y", at="i")


def test_a_number_behind_a_pointer_is_assumed_to_exist() -> None:
    text = "void f(int n, const int *x, int *y) { for (int i = 0; i < n; i++) if (x[i]) *y = i; }"
    assert any("'y' points to a number at each call" in line for line in parse_c(text).notes())
    certain = text.replace("if (x[i])", "")
    assert not any("points to a number" in line for line in parse_c(certain).notes())


def test_a_negative_subscript_under_a_condition_is_excluded() -> None:
    text = (
        "void f(int n, const int *x, int *y) { for (int i = 0; i < 9; i++) if (x[i]) y[n+i] = 1; }"
    )
    assert any("n >= 0" in line for line in parse_c(text).notes())
