"""Subscripts that depend on data, under conditions on data: what gcc's code computes.

Where the condition does not hold, the element may not exist.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from polysched.frontends.scop import load_c, parse_c
from polysched.frontends.scop.program import CProgram
from polysched.ir.core.data_dependent import ABSENT
from polysched.ir.core.kernel import Role
from polysched.ir.expr.expressions import Constant
from polysched.schedule.schedule import Schedule
from polysched.user import optimize
from tests.frontends.scop.calling import assert_as_gcc, compiled_by_polysched, needs_gcc
from tests.support.differential import assert_agrees

BODIES = [
    "int k = 0; for (int i = 0; i < n; i++) if (x[i] > 50) out[k++] = i; return k;",
    "int k = 0; for (int i = 0; i < n; i++) { if (x[i] & 1) { out[k] = x[i]; k++; } } return k;",
    "int *p = out; for (int i = 0; i < n; i++) if (x[i] > 50) *p++ = x[i]; return (int)(p - out);",
    "int *p = out; for (int i = 0; i < n; i++) { if (x[i] > 90) { *p++ = x[i]; *p++ = i; } } "
    "return p - out;",
    "int s = 0; for (int i = 0; i < n; i++) if (x[i] < 7) s += out[x[i]]; return s;",
    "int s = 0; for (int i = 0; i < n; i++) s += x[i] < 7 && out[x[i]] == 0; return s;",
    "for (int i = 0; i < n; i++) out[i] = x[i] < 7 ? x[x[i] / 2 * 0 + 0] : i; return 0;",
    "int k = 0; for (int i = 0; i < n; i++) if (x[i] < 20) { int v = out[k]; out[k] = out[i]; "
    "out[i] = v + x[i]; k++; } return k;",
    "int s = 0; for (int i = 0; i < n; i++) { if (x[i] < 6) { if (x[i] > 2) out[x[i] - 3] += i; "
    "else s++; } } return s;",
    "int k = 0, last = -1; for (int i = 0; i < n; i++) if (x[i] != last) { last = x[i]; "
    "out[k++] = last; } return k;",
]


@needs_gcc
@pytest.mark.parametrize("body", BODIES)
def test_accesses_that_a_condition_guards(body: str, tmp_path: Path) -> None:
    text = f"int f(int n, const unsigned char *restrict x, int *restrict out) {{ {body} }}"
    source = np.random.default_rng(len(body))
    calls = []
    for n in (0, 1, 5, 40, 64):
        x = source.integers(0, 100, n + 1).astype(np.uint8)
        calls.append((ctypes.c_int(n), x, source.integers(0, 3, 2 * n + 8).astype(np.int32)))
    assert_as_gcc(text, "f", tmp_path, *calls)


SUMS = (
    "int s = 0; for (int i = 0; i < n; i++) s += x[i] < 7 ? out[x[i]] : i; return s;",
    "for (int i = 0; i < n; i++) out[i] = x[i] < n ? x[x[i]] : 3; return 0;",
    "int k = 0; for (int i = 0; i < n; i++) if (x[i] > 50) out[k++] = i; return k;",
    "for (int i = 0; i < n; i++) if (x[i] > 50) { out[i] = i; if (x[i] > 80) *out = 3; } return 0;",
)


def program(folder: Path, body: str) -> CProgram:
    source = folder / "f.c"
    source.write_text(
        f"int f(int n, const unsigned char *restrict x, int *restrict out) {{ {body} }}"
    )
    return load_c(source)


@pytest.mark.parametrize("body", [*SUMS[::2], *SUMS[3:]])
def test_absent_elements_are_not_touched(body: str, tmp_path: Path) -> None:
    """The array is NULL, and no iteration uses it."""
    found = program(tmp_path, body)
    library = compiled_by_polysched(Schedule(found.kernel), found.c_function(), tmp_path)
    x = np.full(9, 20, np.uint8)
    result = library.f(9, ctypes.c_void_p(x.ctypes.data), None)
    assert result == (36 if "?" in body else 0)


@needs_gcc
@pytest.mark.parametrize("body", SUMS)
def test_schedules_and_c_text(body: str, tmp_path: Path) -> None:
    """A schedule that `optimize` finds, and the kernel as C text, compute the same."""
    found = program(tmp_path, body)
    text = tmp_path / "text.c"
    rewritten = CliRunner().invoke(main, ["rewrite", str(tmp_path / "f.c"), "-o", str(text)])
    assert rewritten.exit_code == 0, rewritten.output
    assert "if (" in text.read_text()
    printed = tmp_path / "text.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(text), "-o", str(printed)], check=True)
    best = optimize(Schedule(found.kernel))
    source = np.random.default_rng(1)
    n = 37
    x = source.integers(0, 100, n).astype(np.uint8)
    results = []
    for library in (
        compiled_by_polysched(Schedule(found.kernel), found.c_function(), tmp_path),
        compiled_by_polysched(best, found.c_function(), tmp_path),
        ctypes.CDLL(str(printed)),
    ):
        out = np.arange(n, dtype=np.int32)
        returned = library.f(n, *(ctypes.c_void_p(array.ctypes.data) for array in (x, out)))
        results.append((returned, out.tolist()))
    assert results[0] == results[1] == results[2]


def test_an_index_under_a_condition_may_be_absent() -> None:
    kernel = parse_c("void f(int k[1], int x[restrict 9]) { if (x[0]) x[k[0]] = 1; }").kernel
    (index,) = [one for one in kernel.arrays.values() if one.role is Role.TEMPORARY]
    assert index.values == (Constant(ABSENT), Constant(9))


@pytest.mark.parametrize("lanes", [False, True])
def test_interpreters_agree_with_machine_code(lanes: bool) -> None:
    text = (
        "void f(int n, const unsigned char x[n], const int t[7], int y[n], int z[n]) {"
        " int k = 0; for (int i = 0; i < n; i++) y[i] = x[i] < 7 ? t[x[i]] : i;"
        " for (int i = 0; i < n; i++) if (x[i] & 1) z[k++] = y[i]; }"
    )
    kernel = parse_c(text).kernel
    schedule = optimize(kernel) if lanes else Schedule(kernel)
    assert_agrees(schedule, *({"n": n} for n in (1, 8, 21)))


UNKNOWN = [
    "for (int i = 0; i < n; i++) if (x[i] > 60) { out[i] = 2; if (x[i] > 80) *out += 3; } "
    "return 0;",
    "for (int i = 0; i < n; i++) if (x[i] > 60) out[i] += x[i]; return 0;",
    "int k = 0, zeros = 0; for (int i = 0; i < n; i++) { if (zeros > 1 && x[i] < 90) { zeros = 0; "
    "continue; } zeros = x[i] > 30 ? zeros + 1 : 0; out[k++] = x[i]; } return k;",
    "double at = 0; int i; for (i = 0; i < n; i++) { int k = (int)at; if (k + 1 >= n) break; "
    "out[i] = x[k] + 3 * x[k + 1]; at += 1.25; } return i;",
    "int i = n + 1, s = 0; do { s += x[0] * i; } while (--i); return s;",
    "int i = 7, s = 0; do s = s * 3 + x[0] + i; while (--i > 2); return s;",
]


@needs_gcc
@pytest.mark.parametrize("body", UNKNOWN)
def test_arrays_of_unknown_extent_under_conditions(body: str, tmp_path: Path) -> None:
    source = np.random.default_rng(3)
    text = f"int f(int n, const unsigned char *restrict x, int *restrict out) {{ {body} }}"
    calls = []
    for n in (0, 1, 2, 40):
        x = source.integers(0, 100, n + 1).astype(np.uint8)
        calls.append((ctypes.c_int(n), x, np.zeros(n + 1, np.int32)))
    assert_as_gcc(text, "f", tmp_path, *calls)
