import numpy as np
import pytest

from polysched.errors import CallError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.runtime.array_layout import layout_of
from polysched.runtime.plan import OverlapCheck, Plan, bind_names, make_plan, overlaps
from polysched.runtime.signature import Signature, signature_of
from tests.support.strided import product


@pytest.fixture
def signature(rows: Kernel) -> Signature:
    return signature_of(rows)


def _arrays(n: int = 5, h: int = 80) -> dict[str, np.ndarray]:
    return {
        "x": np.zeros((n, h + 2), np.float32),
        "out": np.zeros((n, 2 * h), np.float64),
        "total": np.zeros(n, np.int32),
    }


def _plan(signature: Signature, arrays: dict[str, np.ndarray], **parameters: int) -> Plan:
    layouts = tuple(map(layout_of, arrays.values()))
    return make_plan(signature, layouts, tuple(arrays), tuple(parameters.items()))


# -- which argument is which --


def test_by_position(signature: Signature) -> None:
    assert bind_names(signature, 3, ()) == ("x", "out", "total")


def test_by_position_without_the_outputs(signature: Signature) -> None:
    assert bind_names(signature, 2, ()) == ("x", "total")


def test_names_come_after_positions(signature: Signature) -> None:
    assert bind_names(signature, 2, ("out",)) == ("x", "total", "out")
    assert bind_names(signature, 1, ("x",)) == ("total", "x")
    assert bind_names(signature, 0, ("total", "x")) == ("total", "x")


def test_unknown_name(signature: Signature) -> None:
    with pytest.raises(CallError, match=r"kernel 'rows' has no argument 'totl'; did you mean 'tot"):
        bind_names(signature, 2, ("totl",))


def test_given_twice(signature: Signature) -> None:
    with pytest.raises(CallError, match=r"array 'x' is given twice, by position and by name"):
        bind_names(signature, 3, ("x",))


@pytest.mark.parametrize(
    ("positional", "names", "message"),
    [
        (
            1,
            (),
            r"1 array is given by position; expected 3: \(x, out, total\), or 2 to have"
            r" the outputs allocated: \(x, total\)",
        ),
        (4, (), r"4 arrays are given by position; expected 3"),
        (0, ("x",), r"expected 2: \(out, total\), or 1 .* allocated: \(total,\)"),
        (0, ("x", "out"), r"0 arrays are given by position; expected 1: \(total,\)$"),
    ],
)
def test_wrong_count(
    signature: Signature, positional: int, names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(CallError, match=message):
        bind_names(signature, positional, names)


# -- the plan --


def test_plan_of_a_full_call(signature: Signature) -> None:
    plan = _plan(signature, _arrays())
    assert plan.parameters == (5, 80)
    assert plan.sources == (0, 1, 2)
    assert plan.in_order
    assert plan.allocations == ()
    assert {(c.first, c.second) for c in plan.overlaps} == {(0, 1), (0, 2), (1, 2)}
    assert (plan.overlaps[0].first_bytes, plan.overlaps[0].second_bytes) == (1640, 6400)


def test_plan_of_a_call_without_the_output(signature: Signature) -> None:
    arrays = _arrays()
    del arrays["out"]
    plan = _plan(signature, arrays)
    assert plan.sources == (0, 2, 1)
    assert not plan.in_order
    (allocation,) = plan.allocations
    assert allocation == ("out", (5, 160), np.dtype("f8"), (160, 1))
    assert {(c.first, c.second) for c in plan.overlaps} == {(0, 2)}


def test_empty_arrays_overlap_nothing(saxpy) -> None:
    arrays = {name: np.zeros(0, np.float32) for name in ("x", "y", "out")}
    plan = _plan(signature_of(saxpy.kernel), arrays)
    assert plan.parameters == (0,)
    assert plan.overlaps == ()


def test_two_inputs_may_overlap(saxpy) -> None:
    arrays = {name: np.zeros(3, np.float32) for name in ("x", "y", "out")}
    plan = _plan(signature_of(saxpy.kernel), arrays)
    assert {(c.first, c.second) for c in plan.overlaps} == {(0, 2), (1, 2)}


# -- what does not fit --


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _misaligned(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.zeros(size + 1, np.uint8)[1:].view(dtype).reshape(shape)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "x",
            np.zeros((5, 82)),
            "array 'x' has elements of type float64; expected float32 (f32): convert with "
            ".astype('float32')",
        ),
        (
            "x",
            np.zeros((5, 82), ">f4"),
            "array 'x' has its bytes swapped (>f4); expected the native order (<f4)",
        ),
        (
            "x",
            np.zeros(82, np.float32),
            "array 'x' has 1 dimension, shape (82,); expected 2: (N, H + 2)",
        ),
        (
            "total",
            np.zeros(4, np.int32),
            "array 'total' has shape (4,); expected (N,) = (5,) with N = 5 (from dimension 'd0' of",
        ),
        (
            "out",
            np.zeros((5, 161)),
            "array 'out' has shape (5, 161); expected (N, 2 * H) = (5, 16",
        ),
        (
            "x",
            np.zeros((82, 5), np.float32).T,
            "array 'x' is not contiguous in row-major order; pass numpy.ascontiguousarray",
        ),
        (
            "out",
            np.zeros((5, 320))[:, ::2],
            "array 'out' is not contiguous in row-major order; write into a contiguous array",
        ),
        (
            "out",
            _frozen(np.zeros((5, 160))),
            "array 'out' is read-only; it is an output and must be",
        ),
        (
            "total",
            _frozen(np.zeros(5, "i4")),
            "array 'total' is read-only; it is an inout and must",
        ),
        (
            "x",
            _misaligned((5, 82), "f4"),
            "array 'x' is misaligned; expected an address that is a multiple of its element size",
        ),
    ],
)
def test_array_that_does_not_fit(
    signature: Signature, name: str, value: np.ndarray, message: str
) -> None:
    with pytest.raises(CallError) as caught:
        _plan(signature, {**_arrays(), name: value})
    assert str(caught.value).startswith(f"kernel 'rows': {message}")


def test_read_only_input_fits(signature: Signature) -> None:
    arrays = _arrays()
    _frozen(arrays["x"])
    assert _plan(signature, arrays).is_simple == (False, True, True)


def test_parameter_that_contradicts_the_shapes(signature: Signature) -> None:
    with pytest.raises(CallError, match=r"'x' has shape \(5, 82\); expected .* H = 7 \(given\)"):
        _plan(signature, _arrays(), H=7)


@pytest.mark.parametrize(
    ("n", "h", "message"),
    [
        (0, 8, r"requires N >= 1; got N = 0 \(from dimension 'd0' of 'x'\), H = 8"),
        (1, 101, r"requires H <= 100; got N = 1 .*, H = 101 \(from dimension 'd1' of 'x'\)"),
    ],
)
def test_condition_violated(signature: Signature, n: int, h: int, message: str) -> None:
    with pytest.raises(CallError, match=f"kernel 'rows' {message}"):
        _plan(signature, _arrays(n, h))


def test_negative_extent() -> None:
    build = KernelBuilder("k")
    n = build.parameter("n", minimum=None)
    out = build.output("out", "f32", (n - 5,))
    with build.loops(i=n - 5) as i:
        out[i] = 0.0
    with pytest.raises(
        CallError,
        match=r"array 'out' would have n - 5 = -2 elements in a dimension, with n = 3 \(given\)",
    ):
        make_plan(signature_of(build.kernel()), (), (), (("n", 3),))


def test_numbers_for_shapes_are_not_said_twice() -> None:
    build = KernelBuilder("k")
    out = build.output("out", "f32", (4, 5))
    with build.loops(i=4) as i:
        out[i, 0] = 0.0
    signature = signature_of(build.kernel())
    with pytest.raises(CallError, match=r"has shape \(4, 6\); expected \(4, 5\)$"):
        _plan(signature, {"out": np.zeros((4, 6), np.float32)})


# -- arrays that must not overlap --


def test_pairs_with_one_that_is_written() -> None:
    found = overlaps(signature_of(product()), {"a": 40, "b": 24, "c": 60})
    assert found == (OverlapCheck(0, 2, 40, 60), OverlapCheck(1, 2, 24, 60))


def test_what_is_empty_or_left_out_overlaps_nothing() -> None:
    signature = signature_of(product())
    assert overlaps(signature, {"a": 0, "b": 24, "c": 60}) == (OverlapCheck(1, 2, 24, 60),)
    assert overlaps(signature, {"a": 40, "b": 24}) == ()
