"""No call takes or leaves a reference, however it comes to the kernel."""

import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.library.matmul.dispatch.call import _GENERIC
from polysched.library.matmul.generic.calls import GENERIC_CALLS

COUNT = 300


class Own(np.ndarray[Any, Any]):
    pass


@pytest.fixture(scope="module")
def scale() -> ps.CompiledKernel:
    build = ps.KernelBuilder("scale")
    n = build.parameter("n")
    x, y = build.input("x", ps.i32, (n,)), build.output("y", ps.i32, (n,))
    with build.loops(i=n) as i:
        y[i] = 2 * x[i]
    return ps.Schedule(build.kernel()).vectorize("i", 8).compile()


def references(watched: Sequence[Any]) -> list[int]:
    gc.collect()
    return [sys.getrefcount(one) for one in watched]


def assert_balanced(call: Callable[[], object], *watched: Any) -> None:
    """Fail if many calls change how many references there are to an object."""
    for _ in range(GENERIC_CALLS + 1):  # what is learned from a call is kept
        call()
    _GENERIC.specializer.wait()  # its thread holds references too
    watched = (*watched, None, np.dtype(np.int32), np.dtype(np.float32), np.ndarray)
    before = references(watched)
    for _ in range(COUNT):
        call()
    changes = [now - then for then, now in zip(before, references(watched), strict=True)]
    assert max(map(abs, changes)) < COUNT // 10  # other threads may hold None for a moment
    assert changes[:2] == [0, 0]


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(ps.CallError):
        call()


def test_kernels(scale: ps.CompiledKernel) -> None:
    x, y = np.arange(33, dtype=np.int32), np.zeros(33, np.int32)
    memory = bytearray(4 * 33)
    assert_balanced(lambda: scale(x, y), x, y)
    assert_balanced(lambda: scale(x), x, scale)
    assert_balanced(lambda: scale(x=x, y=y), x, y)
    assert_balanced(lambda: scale(x.view(Own), y), x, y)
    assert_balanced(lambda: scale(memoryview(memory).cast("i"), y), memory, y)
    assert_balanced(lambda: refused(lambda: scale(x[:-1], y)), x, y)
    assert_balanced(lambda: refused(lambda: scale(x, x)), x, y)


def test_the_library() -> None:
    a, out = np.ones((8, 8), np.float32), np.ones((8, 8), np.float32)
    assert_balanced(lambda: ps.matmul(a, a), a, out)
    assert_balanced(lambda: ps.matmul(a, a, out), a, out)
    assert_balanced(lambda: ps.transpose(a), a, out)
    assert_balanced(lambda: ps.transpose(a, (1, 0), out), a, out)
    assert_balanced(lambda: ps.einsum("ij,jk->ik", a, a), a, out)
    assert_balanced(lambda: refused(lambda: ps.matmul(a, a, a)), a, out)
