"""C functions of ``_Float16`` and ``__bf16``, compiled by clang and by polysched."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polysched.frontends.scop import load_c
from polysched.ir.expr.dtypes import DType, bf16, f16
from polysched.ir.semantics.memory import AnyArray
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import compiled_by_polysched
from tests.support.effort import covering

CLANG = shutil.which("clang-22") or shutil.which("clang") or "/usr/lib/llvm-22/bin/clang"
GCC = "gcc"
OPTIONS = ("-O1", "-ffp-contract=off", "-fwrapv", "-shared", "-fPIC", "-w")
N = 200

TEXT = """
typedef HALF half;
static half twice(half x) { return x + x; }
void f(int n, half a, half x[n], half y[n], float z[n], double d[n], int k[n], half out[22][n]) {
  for (int i = 0; i < n; i++) {
    half t = x[i] * y[i];
    out[0][i] = x[i] * y[i] + a;
    out[1][i] = t + a;
    out[2][i] = z[i];
    out[3][i] = d[i];
    out[4][i] = x[i] / y[i];
    out[5][i] = x[i] * z[i] - y[i];
    out[6][i] = x[i] * d[i] - y[i];
    out[7][i] = k[i];
    out[8][i] = x[i] + k[i];
    out[9][i] = x[i] < y[i] ? x[i] : y[i];
    out[10][i] = -x[i] + 1;
    out[11][i] = (half)(z[i] * 3) + (float)y[i];
    out[12][i] = twice(x[i]);
    out[13][i] = x[i];
    out[13][i] += y[i] * y[i];
    out[14][i] = x[i] * 0.1;
    out[15][i] = x[i] * 0.1f;
    out[16][i] = 0.1;
    out[17][i] = (half)0.3 + x[i];
    out[18][i] = x[i] > 0 && y[i] ? 1 : -1;
    if (x[i] > y[i]) out[19][i] = 2 * x[i]; else out[19][i] = y[i];
    out[20][i] = (int)x[i];
    out[21][i] = sizeof(half);
    z[i] = x[i] * y[i] - a;
    d[i] = x[i] * y[i] - d[i];
    k[i] = x[i] * 3;
  }
}
half g(int n, half x[n]) {
  half sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  return sum;
}
"""
# clang leaves this to its runtime library, which the linker need not find.
RUNTIME = """
__bf16 __truncsfbf2(float x) {
  union { float value; unsigned bits; } word = { x };
  union { unsigned short bits; __bf16 value; } half;
  half.bits = x != x ? word.bits >> 16 | 0x40 : (word.bits + 0x7fff + (word.bits >> 16 & 1)) >> 16;
  return half.value;
}
__bf16 __truncdfbf2(double x) {
  union { float value; unsigned bits; } word = { (float)x };
  if ((double)word.value != x && x == x && !(word.bits & 1))
    word.bits += __builtin_fabs(word.value) > __builtin_fabs(x) ? -1 : 1;
  return __truncsfbf2(word.value);
}
"""


def compiled(dtype: DType, compiler: str, folder: Path) -> tuple[ctypes.CDLL, Path]:
    source = folder / "half.c"
    source.write_text(TEXT.replace("HALF", "_Float16" if dtype == f16 else "__bf16"))
    library = folder / "theirs.so"
    more = ["-mf16c"] if dtype == f16 else []
    complete = folder / "complete.c"
    complete.write_text(source.read_text() + (RUNTIME if dtype == bf16 else ""))
    command = [compiler, *OPTIONS, *more, complete, "-o", library]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library)), source


def by_value(bits: int) -> ctypes.c_float:
    """A half passed as C does, in the low bits of a vector register."""
    return ctypes.c_float.from_buffer_copy(np.uint32(bits).tobytes())


def arrays(dtype: DType) -> list[AnyArray]:
    generator = np.random.default_rng(2)
    own = dtype.numpy()
    x, y = (generator.normal(0, 2, N).astype(own) for _ in range(2))
    z, d = generator.normal(0, 9, N).astype(np.float32), generator.normal(0, 9, N)
    k = generator.integers(-3000, 3000, N).astype(np.int32)
    return [x, y, z, d, k, np.zeros((22, N), own)]


@covering(1, dtype=[f16, bf16], lanes=[0, 16])
def test_computes_as_clang(dtype: DType, lanes: int, tmp_path: Path) -> None:
    """gcc differs: it does not round a value that is converted to a wider type."""
    if shutil.which(CLANG) is None:
        pytest.skip("needs clang")
    theirs, source = compiled(dtype, CLANG, tmp_path)
    program = load_c(source, "f")
    schedule = Schedule(program.kernel)
    if lanes:
        schedule = schedule.privatize("t", "i").vectorize("i", lanes)
    mine = compiled_by_polysched(schedule, program.c_function(), tmp_path)
    found = []
    for library in (mine, theirs):
        given = arrays(dtype)
        pointers: list[Any] = [ctypes.c_void_p(one.ctypes.data) for one in given]
        library.f(ctypes.c_int(N), by_value(int(given[0].view(np.uint16)[3])), *pointers)
        found.append(given)
    for mine_array, their_array in zip(*found, strict=True):
        assert mine_array.tobytes() == their_array.tobytes()


@pytest.mark.parametrize("compiler", [CLANG, GCC])
def test_result_of_a_function(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    theirs, source = compiled(f16, compiler, tmp_path)
    program = load_c(source, "g")
    mine = compiled_by_polysched(Schedule(program.kernel), program.c_function(), tmp_path)
    x = arrays(f16)[0] / np.float16(16)
    results = []
    for library in (mine, theirs):
        library.g.restype = ctypes.c_float
        value = library.g(ctypes.c_int(N), ctypes.c_void_p(x.ctypes.data))
        results.append(int(np.float32(value).view(np.uint32)) & 0xFFFF)
    assert results[0] == results[1] != 0
