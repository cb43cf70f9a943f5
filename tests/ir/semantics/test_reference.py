import numpy as np
import pytest

from polysched.errors import CallError, KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.functions import cast, maximum
from polysched.ir.semantics.reference import instances, program_order, run_reference


def convolution() -> Kernel:
    """The channeled convolution with bias and ReLU, at sizes given as parameters."""
    build = KernelBuilder("convolution")
    height, width, channels = (build.parameter(name, minimum=1) for name in ("h", "w", "ch"))
    image = build.input("image", f32, (height + 2, width + 2, channels))
    weights = build.input("weights", f32, (channels, 3, 3, channels))
    bias = build.input("bias", f32, (channels,))
    conv = build.temporary("conv", f32, (height, width, channels))
    out = build.output("out", f32, (height, width, channels))
    with build.loops(y=height, x=width, c=channels) as (y, x, c):
        conv[y, x, c] = bias[c]
    with build.loops(y=height, x=width, c=channels, rz=3, ry=3, rx=channels) as (
        y,
        x,
        c,
        rz,
        ry,
        rx,
    ):
        conv[y, x, c] = conv[y, x, c] + weights[rx, rz, ry, c] * image[y + rz, x + ry, rx]
    with build.loops(y=height, x=width, c=channels) as (y, x, c):
        out[y, x, c] = maximum(0, conv[y, x, c])
    return build.kernel()


def test_convolution_against_numpy() -> None:
    height, width, channels = 3, 4, 5
    random = np.random.default_rng(1)
    image = random.random((height + 2, width + 2, channels), np.float32) - np.float32(0.5)
    weights = random.random((channels, 3, 3, channels), np.float32) - np.float32(0.5)
    bias = random.random(channels, np.float32)
    expected = np.tile(bias, (height, width, 1))
    for rz in range(3):
        for ry in range(3):
            expected += image[rz : rz + height, ry : ry + width] @ weights[:, rz, ry]
    arrays = {"image": image, "weights": weights, "bias": bias}
    result = run_reference(convolution(), arrays, {"h": height, "w": width, "ch": channels})
    assert list(result) == ["out"]
    np.testing.assert_allclose(result["out"], np.maximum(0, expected), rtol=1e-5, atol=1e-5)


def test_order_of_a_recurrence_is_kept() -> None:
    """A triangular in-place solve: every step reads what earlier steps wrote."""
    build = KernelBuilder("solve")
    n = build.parameter("n", minimum=1)
    lower = build.input("lower", i32, (n, n))
    x = build.inout("x", i32, (n,))
    with build.loops(i=n) as i:
        with build.loops(j=i) as j:
            x[i] = x[i] - lower[i, j] * x[j]
        x[i] = x[i] * 3
    random = np.random.default_rng(2)
    matrix = random.integers(-5, 5, (9, 9), np.int32)
    start = random.integers(-5, 5, 9, np.int32)
    before, expected = start.tolist(), start.tolist()
    for row in range(9):
        for column in range(row):
            expected[row] -= int(matrix[row, column]) * expected[column]
        expected[row] *= 3
    wrapped = [(value + 2**31) % 2**32 - 2**31 for value in expected]
    result = run_reference(build.kernel(), {"lower": matrix, "x": start}, {"n": 9})
    assert result["x"].tolist() == wrapped
    assert start.tolist() == before


def imperfect() -> Kernel:
    build = KernelBuilder("imperfect")
    n = build.parameter("n")
    a = build.output("a", i32, (n, n))
    s = build.output("s", i32, ())
    with build.statement("first"):
        s[()] = 0
    with build.loops(i=n) as i:
        with build.loops(j=(0, i + 1)) as j, build.statement("low"):
            a[i, j] = cast(j, i32)
        with build.loops(j=(i + 1, n, 2)) as j, build.statement("high"):
            a[i, j] = cast(i, i32)
    with build.statement("last"):
        s[()] = s[()] + 1
    return build.kernel()


def test_instances_come_in_program_order() -> None:
    expected: list[tuple[str, tuple[int, ...]]] = [("first", ())]
    for i in range(4):
        expected += [("low", (i, j)) for j in range(i + 1)]
        expected += [("high", (i, j)) for j in range(i + 1, 4, 2)]
    assert list(instances(imperfect(), {"n": 4})) == [*expected, ("last", ())]


def test_no_instances() -> None:
    assert list(instances(imperfect(), {"n": 0})) == [("first", ()), ("last", ())]
    assert run_reference(imperfect(), {}, {"n": 0})["a"].shape == (0, 0)


def test_what_is_not_written_stays_undefined_or_as_given() -> None:
    kernel = imperfect()
    assert run_reference(kernel, {}, {"n": 3})["a"][0, 2] < -(10**9)
    given = {"a": np.full((3, 3), 9, np.int32)}
    assert run_reference(kernel, given, {"n": 3})["a"].tolist() == [[0, 0, 9], [0, 1, 1], [0, 1, 2]]


def test_reading_a_temporary_before_it_is_written_shows() -> None:
    build = KernelBuilder("undefined")
    t = build.temporary("t", f32, (2,))
    y = build.output("y", f32, (2,))
    t[0] = 1
    with build.loops(i=2) as i:
        y[i] = t[i]
    assert np.isnan(run_reference(build.kernel(), {}, {})["y"]).tolist() == [False, True]


def test_program_order_alternates_positions_and_loops() -> None:
    kernel = imperfect()
    shown = [str(column) for column in program_order(kernel.body, "high")]
    assert shown[0] == "1"
    assert shown[2] == "1"
    assert len(shown) == 4
    assert program_order(kernel.body, "last") == [2]


def test_an_access_outside_names_statement_instance_and_element() -> None:
    build = KernelBuilder("shift")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", f32, (n,)), build.output("y", f32, (n,))
    with build.loops(i=n) as i, build.statement("move"):
        y[i] = x[i + 1]
    with pytest.raises(
        KernelError, match=r"statement 'move' at \(i = 3\): x\[4\] is outside array 'x' of shape"
    ):
        run_reference(build.kernel(), {"x": np.zeros(4, np.float32)}, {"n": 4})


def test_parameters_are_checked() -> None:
    with pytest.raises(CallError, match=r"n = -1 violates n >= 0"):
        run_reference(imperfect(), {}, {"n": -1})


def test_index_values_may_stand_in_values() -> None:
    build = KernelBuilder("iota")
    y = build.output("y", f32, (4,))
    with build.loops(i=4) as i:
        y[i] = cast(2 * i + 1, f32) * 0.5
    assert run_reference(build.kernel(), {}, {})["y"].tolist() == [0.5, 1.5, 2.5, 3.5]
