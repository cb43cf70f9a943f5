import threading
import time
from typing import Any

import numpy as np
import pytest

from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import f32
from polysched.library.matmul.config import Config
from polysched.library.matmul.kernel import matmul_kernel
from polysched.lower import compile
from polysched.runtime.kernel import CompiledKernel, compile_kernel
from polysched.runtime.short_call import ShortCall, is_possible, short_call
from tests.library.matmul.products import HOST, scheduled
from tests.support.differential import NO_CACHE

AnyArray = np.ndarray[Any, Any]


def product(m: int, n: int, k: int) -> CompiledKernel:
    config = Config(inner_m=4, inner_n=32, pack_b=False)
    return compile(scheduled(matmul_kernel(m, n, k), config), HOST, cache=NO_CACHE)


def short(m: int, n: int, k: int) -> ShortCall:
    found = short_call(product(m, n, k), [4 * m * k, 4 * k * n, 4 * m * n])
    assert found is not None
    return found


def some(*shape: int) -> AnyArray:
    return np.random.default_rng(0).integers(-8, 8, shape).astype("f4")


@pytest.fixture(scope="module")
def small() -> ShortCall:
    return short(4, 6, 5)


def test_it_is_possible_here() -> None:
    assert is_possible()


def test_it_computes(small: ShortCall) -> None:
    a, b, out = some(4, 5), some(5, 6), np.empty((4, 6), "f4")
    assert small(a, b, out) is True
    np.testing.assert_array_equal(out, a @ b)


def test_it_keeps_its_code() -> None:
    functions = [short(2, 3, k) for k in range(1, 6)]
    for k, function in enumerate(functions, 1):
        a, b, out = some(2, k), some(k, 3), np.empty((2, 3), "f4")
        for _ in range(100):
            assert function(a, b, out)
        np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize(
    "arguments",
    [(), (1,), (some(4, 5), some(5, 6)), (some(4, 5), None, some(4, 6)), (some(4, 5),) * 4],
    ids=len,
)
def test_what_is_no_array_is_refused(small: ShortCall, arguments: tuple[object, ...]) -> None:
    assert small(*arguments) is False


def test_subclasses_are_refused(small: ShortCall) -> None:
    assert small(some(4, 5), some(5, 6), some(4, 6).view(np.recarray)) is False


@pytest.mark.parametrize(
    ("offset", "is_apart"), [(-20, True), (-19, False), (23, False), (24, True)]
)
def test_overlapping_arrays_are_refused(small: ShortCall, offset: int, is_apart: bool) -> None:
    memory = some(80)
    a, out = memory[30 + offset :][:20].reshape(4, 5), memory[30:54].reshape(4, 6)
    b = some(5, 6)
    expected = a @ b if is_apart else out.copy()
    assert small(a, b, out) is is_apart
    np.testing.assert_array_equal(out, expected)
    assert small(some(4, 5), memory[:30].reshape(5, 6), out) is True
    assert small(some(4, 5), memory[1:31].reshape(5, 6), out) is False


def test_other_threads_run_meanwhile() -> None:
    size = 1500
    kernel = product(size, size, size)
    function = short_call(kernel, [4 * size * size] * 3)
    assert function is not None
    a, b, out = some(size, size), some(size, size), np.empty((size, size), "f4")
    ran = threading.Event()

    def wait() -> None:
        time.sleep(0.001)
        ran.set()

    other = threading.Thread(target=wait)
    other.start()
    assert function(a, b, out)
    had_run = ran.is_set()
    other.join()
    assert had_run


def test_without_memory_nothing_is_computed() -> None:
    build = KernelBuilder("failing")
    build.input("x", f32, (4,))
    out = build.output("y", f32, (4,))
    with build.loops(i=4) as i:
        out[i] = 1.0
    text = "define i32 @failing(ptr %x, ptr %y) { ret i32 1 }"
    function = short_call(compile_kernel(build.kernel(), text, HOST, cache=NO_CACHE), [16, 16])
    assert function is not None
    assert function(some(4), some(4)) is False
