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


def test_arguments_that_do_not_fit_the_definition() -> None:
    with pytest.raises(CallError, match=r"function 'softmax': .* expected softmax\(x\)"):
        ps.jit(softmax)()


def test_a_function_that_cannot_be_compiled() -> None:
    @ps.jit
    def sorted_copy(x):
        return np.sort(x)

    with pytest.raises(FrontendError, match="'sort' of a whole array is not supported") as raised:
        sorted_copy(np.zeros(3))
    assert "^^^^" in str(raised.value)


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


@pytest.mark.parametrize("value", ["2", None])
def test_a_value_that_is_no_number(value: str | None) -> None:
    def scaled(x: Any, s: Any) -> Any:
        return x * s

    with pytest.raises(ps.FrontendError) as raised:
        ps.jit(scaled)(np.zeros(5), value)
    assert f"the value here is {value!r}; expected a number or an array" in str(raised.value)


def test_what_is_compiled_already() -> None:
    def halved(x: Any) -> Any:
        return x / 2

    with pytest.raises(ps.FrontendError, match="compiled by jit already"):
        ps.jit(ps.jit(halved))


def test_what_numba_has() -> None:
    def halved(x: Any) -> Any:
        return x / 2

    with pytest.raises(ps.FrontendError, match="leave out types: calls give the types"):
        ps.jit("f8(f8)")(halved)  # type: ignore[call-overload]
    with pytest.raises(CallError, match="jit: threads=0; expected an integer >= 1"):
        ps.jit(threads=0)(halved)
    fast = ps.jit(halved)
    for name, hint in {
        "py_func": "write python",
        "check": "its schedule has it: schedule.check",
    }.items():
        with pytest.raises(AttributeError, match=f"a function of ps.jit has no '{name}'; {hint}"):
            getattr(fast, name)


def test_a_tuple_is_not_an_array() -> None:
    def first_grid(x: Any) -> Any:
        return np.meshgrid(x, x)[0]

    with pytest.raises(ps.FrontendError, match="a tuple is not an array; give each of"):
        ps.jit(first_grid)(np.zeros(4))


def test_the_report_leaves_out_what_all_sizes_satisfy() -> None:
    function = ps.jit(scaled)
    function(np.zeros(5), 2.5, np.zeros(5))
    assert "every call checks" not in function.report()


def test_the_report_has_conditions_of_arrays_that_are_not_empty() -> None:
    def crop(image, height):
        out = np.empty((height, image.shape[1]))
        for y in range(height):
            for x in range(image.shape[1]):
                out[y, x] = image[min(y + 2, image.shape[0] - 1), x]
        return out

    function = ps.jit(crop)
    function(np.ones((9, 8)), 5)
    assert "every call checks" not in function.report()


def test_unknown_arguments_are_named() -> None:
    with pytest.raises(CallError, match=r"^function 'scaled': there is no argument 'z'; known are"):
        ps.jit(scaled)(np.zeros(5), 2.5, z=np.zeros(5))
    with pytest.raises(CallError, match="too many positional arguments; expected scaled"):
        ps.jit(scaled)(1, 2, 3, 4)


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


@pytest.mark.parametrize("value", [None, "mean"])
def test_a_value_that_is_no_array_is_shown(value) -> None:
    def first(x, w):
        return x * w[0]

    with pytest.raises(FrontendError, match=f"the value here is {value!r}; expected an array"):
        ps.jit(first)(np.zeros(5), value)


def test_functions_that_only_the_c_library_has() -> None:
    def of_math(x):
        out = np.empty_like(x)
        for i in range(len(x)):
            out[i] = math.erf(x[i]) + math.erfc(x[i]) + math.expm1(x[i]) + math.atanh(x[i] / 9)
        return out + np.log1p(x)

    x = np.linspace(0.1, 3, 50)
    np.testing.assert_allclose(ps.jit(of_math)(x), of_math(x), rtol=1e-14)


def test_errors_of_the_function_have_a_short_traceback() -> None:
    def with_list(x):
        found = [x, None]
        return found[0]

    with pytest.raises(FrontendError) as caught:
        ps.jit(with_list)(np.zeros(5))
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "read_function"


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
