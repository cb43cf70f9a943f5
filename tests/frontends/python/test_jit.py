"""``ps.jit``: compiled for the types of a call, and what a call takes and gives."""

import inspect
import math
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, FrontendError
from tests.frontends.python.programs import histogram, programs, softmax
from tests.frontends.python.same_results import require_same_results
from tests.support.effort import EFFORT


def scaled(x, factor, y):
    y[:] = factor * x
    return np.sum(x), len(x), y


def test_results_as_in_python() -> None:
    x, y = np.arange(5.0), np.zeros(5)
    function = ps.jit(scaled)
    total, count, returned = function(x, 2.5, y)
    assert (total, type(total)) == (10.0, np.float64)
    assert (count, type(count)) == (5, int)
    assert returned is y
    np.testing.assert_array_equal(y, 2.5 * x)
    assert function(y=y, x=x, factor=3)[1] == 5


def test_code_is_kept_for_each_kind_of_arguments() -> None:
    function = ps.jit(scaled)
    for size in (5, 6, 7):
        function(np.zeros(size), 2.5, np.zeros(size))
    assert function.signatures == ("(x: f64[x_n0], factor: float, y: f64[x_n0]) for x_n0 <= 16",)
    function(np.zeros(5, np.float32), 2, np.zeros(5))
    assert len(function.signatures) == 2
    signature = "(x: f32[x_n0], factor: int, y: f64[x_n0]) for x_n0, factor <= 16"
    assert function.signatures[1] == signature
    assert list(function.inspect_llvm()) == list(function.signatures)
    assert "define" in function.inspect_llvm()[function.signatures[0]]
    report = function.report()
    assert "factor: int" in report
    assert "decisions:\n" in report
    assert "loops:\n" in report
    assert function.schedule.check().is_legal


def test_the_function_itself() -> None:
    function = ps.jit(scaled)
    assert function.python is scaled
    assert inspect.signature(function) == inspect.signature(scaled)
    assert function.__name__ == "scaled"
    with pytest.raises(CallError, match="has not been called yet"):
        function.report()


def moved(a, x):
    a[:, 0] = x
    a[0] += 1
    return a.sum(axis=0)


@pytest.mark.parametrize(
    "view", [lambda a: a, lambda a: a.T, lambda a: a[:, :4], lambda a: a[::-1, ::2]]
)
def test_views_as_arguments(view) -> None:
    own = np.arange(48.0).reshape(6, 8)
    other = own.copy()
    size = view(own).shape[0]
    x = np.arange(20.0)[:size]
    np.testing.assert_array_equal(ps.jit(moved)(view(own), x), moved(view(other), x))
    np.testing.assert_array_equal(own, other)


def test_views_that_overlap() -> None:
    a = np.zeros((6, 6))
    with pytest.raises(CallError, match="'a' and 'x' overlap in memory"):
        ps.jit(moved)(a.T[:, :4], a[0])


def squared(x):
    x *= x


@pytest.mark.parametrize("strides", [(8, 8), (24, 0)])
def test_elements_that_share_memory_are_not_written(strides: tuple[int, int]) -> None:
    x = np.lib.stride_tricks.as_strided(np.ones(9), (3, 3), strides)
    with pytest.raises(CallError, match="'x' is written, and its elements may share memory"):
        ps.jit(squared)(x)


def test_matrices_are_refused() -> None:
    with pytest.raises(CallError, match="'x' is a matrix"):
        ps.jit(squared)(np.ones((2, 2)).view(np.matrix))


def test_sizes_that_a_call_checks() -> None:
    @ps.jit
    def shifted(x, y):
        for i in range(len(x)):
            y[i + 2] = x[i]

    y = np.zeros(5)
    shifted(np.ones(3), y)
    np.testing.assert_array_equal(y, [0, 0, 1, 1, 1])
    with pytest.raises(CallError, match=r"y.shape\[0\] >= x.shape\[0\] \+ 2; got x.shape = \(4,\)"):
        shifted(np.ones(4), np.zeros(5))
    with pytest.raises(FrontendError, match="outside of 'y' is accessed here") as raised:
        ps.jit(shifted.python)(np.ones(4), np.zeros(5))
    assert "y[i + 2] = x[i]" in str(raised.value)


def test_subscripts_from_data_are_checked() -> None:
    function = ps.jit(histogram)
    image = np.array([[1, 2, 1]], np.uint8)
    assert function(image)[:4].tolist() == [0, 2, 1, 0]

    @ps.jit
    def picked(x, at):
        return x[at] + 0

    assert picked(np.arange(4.0), np.array([3, 0])).tolist() == [3, 0]
    with pytest.raises(CallError, match="'at'"):
        picked(np.arange(4.0), np.array([4, 0]))


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (np.zeros(3, complex), "complex numbers"),
        (1j, "complex numbers"),
        ([1.0, 2.0], "of type list; expected .* such as np.asarray.x."),
        (np.array(["a"]), "argument 'x'"),
        (None, "the value here is None"),
    ],
)
def test_arguments_of_other_types(argument, message) -> None:
    with pytest.raises(FrontendError, match=message):
        ps.jit(softmax)(argument)


def test_numbers_change_in_the_function_only() -> None:
    @ps.jit
    def halved(x, t, n):
        t /= 2
        for _ in range(3):
            t = t + x[0]
        n = n + 1
        return t, n

    assert halved(np.ones(1), 3.0, 4) == (4.5, 5)
    assert halved(np.ones(1, np.float32), np.float32(3), 4) == (np.float32(4.5), 5)


def test_fastmath_may_reassociate() -> None:
    @ps.jit(fastmath=True)
    def total(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

    assert math.isclose(total(np.ones(9)), 9)
    (reduction,) = [
        one.reduction for one in total.schedule.kernel.statements.values() if one.reduction
    ]
    assert reduction.order.value == "any"


def test_an_annotated_kernel_runs_compiled() -> None:
    @ps.kernel
    def dot(x: "f32[n]", y: "f32[n]", scale: "f32"):  # noqa: F821
        s = np.float32(0)
        for i in range(x.shape[0]):
            s += x[i] * y[i]
        return s * scale

    x = np.ones(4, np.float32)
    found = dot(x, x, 0.5)
    assert (found, type(found)) == (2, np.float32)
    assert dot.python(x, x, np.float32(0.5)) == 2
    with pytest.raises(CallError, match="expected a number of type f32"):
        dot(x, x, "a")


@pytest.mark.parametrize("position", [6, 19] if EFFORT == 1 else range(20))
def test_programs(position: int) -> None:
    function, arguments = programs(np.random.default_rng(0))[position]
    given = [np.copy(value) for value in arguments]
    found = ps.jit(function)(*given)
    expected = function(*arguments)
    for one, other in zip([found, *given], [expected, *arguments], strict=True):
        if one is not None:
            assert np.shape(one) == np.shape(other)
            np.testing.assert_allclose(one, other, rtol=1e-12)


class prange:
    """numba's, for tests without numba."""

    __module__ = "numba.misc.special"

    def __new__(cls, *ends: int) -> range:  # type: ignore[misc]
        return range(*ends)


def test_the_prange_of_numba_counts_as_range_does() -> None:
    @ps.jit
    def doubled(x):
        for i in prange(1, len(x)):
            x[i] *= 2
        return x

    require_same_results(doubled, doubled.python, np.arange(5.0))


def test_a_call_may_do_nothing() -> None:
    def backward(x: Any) -> Any:
        for i in range(len(x) - 1, 0, -1):
            x[i] -= 0.5 * x[i - 1]
        return x

    def empty(x: Any) -> None:
        pass

    fast = ps.jit(backward)
    for count in (1, 2, 17):
        values = np.arange(count, dtype=float)
        assert np.array_equal(fast(values.copy()), backward(values))
    assert ps.jit(empty)(np.ones(3)) is None


def test_sizes_that_do_not_fit_the_first_call() -> None:
    def scaled(x: Any, s: Any) -> Any:
        return x * s

    with pytest.raises(ps.CallError) as raised:
        ps.jit(scaled)(np.zeros((5, 6)), np.zeros(5))
    assert str(raised.value).endswith(
        "requires x.shape[1] == s.shape[0]; got x.shape = (5, 6), s.shape = (5,)"
    )


@ps.jit
def doubled(x):
    return x * 2


def halved(x):
    return x / 2


def test_functions_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    copy = pickle.loads(pickle.dumps(ps.jit(halved, fastmath=True)))
    assert (copy.python, copy.fastmath, copy.threads) == (halved, True, 1)
    assert copy(np.full(5, 3.0)).tolist() == [1.5] * 5


def test_functions_that_only_the_c_library_has() -> None:
    def of_math(x):
        out = np.empty_like(x)
        for i in range(len(x)):
            out[i] = math.erf(x[i]) + math.erfc(x[i]) + math.expm1(x[i]) + math.atanh(x[i] / 9)
        return out + np.log1p(x)

    x = np.linspace(0.1, 3, 50)
    np.testing.assert_allclose(ps.jit(of_math)(x), of_math(x), rtol=1e-14)


def test_a_type_is_passed_by_its_name() -> None:
    @ps.jit
    def converted(x: Any, dtype: Any) -> Any:
        return x.astype(dtype)

    assert converted(np.ones(2), "float32").dtype == np.float32
    for dtype in (np.float32, np.dtype("f4")):
        with pytest.raises(CallError, match="'dtype' is a type; pass its name, 'float32'"):
            converted(np.ones(2), dtype)


def test_a_method() -> None:
    @dataclass
    class Filter:
        gain: float

        @ps.jit
        def amplified(self, x: Any) -> Any:
            return x * self.gain

    class Plain:
        amplified = Filter.amplified

    assert Filter(3.0).amplified(np.ones(2)).tolist() == [3, 3]
    with pytest.raises(CallError, match="'amplified': argument 'self' is of type Plain"):
        Plain().amplified(np.ones(2))


def test_arguments_without_a_name() -> None:
    def first(*arrays: Any, **options: Any) -> Any:
        return arrays[0] * options["factor"]

    with pytest.raises(FrontendError, match=r"'\*arrays' takes any arguments; expected named"):
        ps.jit(first)
