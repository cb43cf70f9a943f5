"""Kernels of rounded rows, run by the interpreter on their declarations."""

import numpy as np

from polysched.library.dynamic_linear.kernel import LinearForm, linear_kernel, rounding_kernel
from polysched.library.dynamic_linear.schedule import linear_schedule, rounding_schedule
from polysched.machine.load import load_machine


def test_names_tell_the_width_of_the_codes() -> None:
    forms = [LinearForm(2, 8, 4, 1, is_packed, True) for is_packed in (False, True)]
    assert [linear_kernel(form).name for form in forms] == [
        "dynamic_linear_8_bits",
        "dynamic_linear_4_bits",
    ]
    assert "bytes" not in linear_kernel(forms[0]).arrays


def test_rounded_rows() -> None:
    machine = load_machine(None)
    assert rounding_kernel(8).parameters == ("rows", "groups")
    run = rounding_schedule(8, machine).compile()
    x = np.array([[1, -2, 0.5, 0] * 4, [0] * 16, [1e-44] * 16, [3e38] * 16], np.float32)
    rounded = np.empty(x.shape, np.int8)
    sums, scale = np.empty((4, 2), np.float32), np.empty(4, np.float32)
    run(x, rounded, sums, scale)
    np.testing.assert_array_equal(rounded[0], [64, -127, 32, 0] * 4)
    np.testing.assert_array_equal(rounded[1:3], 0)
    np.testing.assert_array_equal(rounded[3], 127)
    np.testing.assert_array_equal(sums, rounded.reshape(4, 2, 8).sum(axis=2, dtype=np.float32))
    np.testing.assert_allclose(scale[[0, 3]], np.array([2, 3e38]) / 127, rtol=1e-6)


def test_infinite_rows_have_no_scale() -> None:
    run = rounding_schedule(8, load_machine(None)).compile()
    x = np.ones((3, 8), np.float32)
    x[0, 3], x[1, 7] = np.nan, -np.inf
    scale = np.empty(3, np.float32)
    run(x, np.empty(x.shape, np.int8), np.empty((3, 1), np.float32), scale)
    np.testing.assert_array_equal(np.isnan(scale), [True, True, False])


def test_schedules_for_another_machine_are_legal() -> None:
    for machine in ("haswell-avx2", "skylake-avx512"):
        target = load_machine(machine)
        lanes = target.lanes(32)
        for is_single in (False, True):
            form = LinearForm(2, 2 * lanes, lanes, 2, True, is_single, bias=True, activation="relu")
            assert linear_schedule(form, target, parallel=True).check().is_legal
