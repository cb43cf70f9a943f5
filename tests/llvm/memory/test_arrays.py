"""No access leaves its array: arrays between pages that trap."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PAGES = '''
import ctypes, mmap
import numpy as np
from polysched.ir.core.kernel import Role
from polysched.ir.semantics.memory import concrete_shape
from polysched.ir.semantics.reference import run_reference
from polysched.lower import compile
from polysched.schedule.schedule import Schedule
from tests.support import kernels, packed_kernels
from tests.support.differential import NO_CACHE, arguments, assert_equal

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
KEPT = []

def between_traps(contents, at_end):
    """A copy that ends at a page (or begins at one), pages that trap on both sides."""
    pages = -(-max(contents.nbytes, 1) // PAGE)
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for guard in (start, start + (pages + 1) * PAGE):
        assert libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(PAGE), 0) == 0
    KEPT.append(memory)
    place = PAGE + (pages * PAGE - contents.nbytes if at_end else 0)
    result = np.ndarray(contents.shape, contents.dtype, memory, place)
    result[...] = contents
    return result

def check(schedule, sizes):
    run = compile(schedule, cache=NO_CACHE)
    for size in sizes:
        given = arguments(schedule.kernel, size)
        expected = run_reference(schedule.kernel, given, size)
        for at_end in (True, False):
            got = {name: between_traps(array, at_end) for name, array in given.items()}
            run(**got, **size)
            assert_equal(got, expected, str(size))

SIZES = [{"n": n, "m": m} for n in (1, 3, 8) for m in (1, 7, 8, 9, 17)]
LINES = [{"n": n} for n in (1, 7, 8, 9, 17)]
S = Schedule
check(S(kernels.grid()).vectorize("j", 8), SIZES)
check(S(kernels.grid()).vectorize("i", 8), SIZES)
check(S(kernels.grid()).tile(("i", "j"), (2, 16)).vectorize("ji", 8).unroll("ii", "ji"), SIZES)
check(S(kernels.grid()).tile(("i", "j"), (2, 8)).pack("x", "jo").vectorize("ji", 8), SIZES)
check(S(kernels.grid()).tile(("i", "j"), (2, 8)).promote("y", "jo", lanes=8), SIZES)
check(S(kernels.transpose()).tile(("i", "j"), (8, 8)).vectorize("ii", 8).unroll("ji"), SIZES)
check(S(kernels.shuffle()).vectorize("strided.i", 8).vectorize("reversed.i", 8), LINES)
check(S(kernels.conditions()).vectorize("j", 8), LINES)
check(S(kernels.stepped()).vectorize("j", 8), LINES)
for bits in ("u1", "i4", "i5", "u12", "i31"):
    for kernel in (packed_kernels.unpack(bits), packed_kernels.pack(bits, first=1)):
        check(S(kernel), LINES)
        check(S(kernel).vectorize("i", 16), LINES)
    for rows in ("padded", "contiguous"):
        check(S(packed_kernels.halves(bits, rows)).vectorize("j", 8), SIZES[::3])
print("nothing touched")
'''


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect through Linux's libc")
def test_no_access_leaves_its_array() -> None:
    """In a process of its own, for an access outside would be its end."""
    command = [sys.executable, "-c", PAGES]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    assert done.stdout == "nothing touched\n"
