import re

import islpy as isl
import numpy as np
import pytest

from polysched.errors import CallError, KernelError
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.packing import Rows
from polysched.ir.expr.dtypes import as_dtype, boolean, f32, f64, i8, i32, u16
from polysched.ir.expr.expressions import Constant, Expression, Parameter
from polysched.ir.semantics.memory import (
    Memory,
    argument_memory,
    check_parameters,
    concrete_shape,
    results,
    undefined,
)

n = Parameter("n")


def vector(name: str, role: Role, extent: Expression = n) -> Array:
    return Array(name, f32, (extent,), role, ("d0",))


ARRAYS = {
    array.name: array
    for array in [
        vector("x", Role.INPUT),
        vector("y", Role.OUTPUT, n + 1),
        vector("z", Role.INOUT),
        vector("t", Role.TEMPORARY),
    ]
}
GIVEN = {"x": np.ones(3, np.float32), "z": np.zeros(3, np.float32)}


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ((2, 0), "a[2, 0] is outside array 'a' of shape (2, 3); expected 0 <= subscript < extent"),
        ((0, -1), "a[0, -1] is outside array 'a' of shape (2, 3)"),
        ((1,), "a[1]: array 'a' has 2 dimensions"),
    ],
)
def test_elements_outside_are_refused(position: tuple[int, ...], message: str) -> None:
    memory = Memory({"a": np.zeros((2, 3), np.float32)})
    with pytest.raises(KernelError, match=re.escape(message)):
        memory.read("a", position)
    with pytest.raises(KernelError, match=re.escape(message)):
        memory.write("a", position, np.float32(1))


def test_an_array_that_does_not_live() -> None:
    with pytest.raises(KernelError, match=r"b\[0\] is used outside the lifetime of array 'b'"):
        Memory({}).read("b", (0,))


def test_elements_are_written_and_read() -> None:
    memory = Memory({"a": np.zeros((2, 3), np.float32), "s": np.zeros((), np.int32)})
    memory.write("a", (1, 2), np.float32(5))
    memory.write("s", (), 7)
    assert memory.read("a", (1, 2)) == 5
    assert memory.read("s", ()) == 7


def test_undefined_elements_show() -> None:
    assert np.isnan(undefined((2,), f64)).all()
    assert undefined((2,), u16).tolist() == [0xA5A5] * 2
    assert undefined((), i8) == np.int8(-91)
    assert undefined((1,), i32)[0] < -(10**9)
    assert undefined((1,), boolean)[0]
    assert undefined((0, 3), f32).shape == (0, 3)


def test_shapes_are_never_negative() -> None:
    assert concrete_shape((n - 5, 2 * n, Constant(4)), {"n": 3}) == (0, 6, 4)


def test_argument_memory_copies_and_makes_the_rest_undefined() -> None:
    memory = argument_memory(ARRAYS, GIVEN, {"n": 3})
    memory.write("z", (0,), np.float32(1))
    assert GIVEN["z"][0] == 0
    assert memory.arrays["y"].shape == (4,)
    assert np.isnan(memory.arrays["y"]).all()
    assert np.isnan(memory.arrays["t"]).all()
    assert sorted(results(ARRAYS, memory)) == ["y", "z"]


def test_a_given_output_keeps_its_contents() -> None:
    memory = argument_memory(ARRAYS, {**GIVEN, "y": np.full(4, 2, np.float32)}, {"n": 3})
    assert memory.arrays["y"].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros(3)}, "'q' is not an argument array"),
        ({"t": np.zeros(3, np.float32)}, "'t' is not an argument array"),
        (
            {"x": np.zeros(4, np.float32)},
            "array 'x': expected f32 of shape (3,); got float32 of shape (4,)",
        ),
        ({"x": np.zeros(3)}, "array 'x': expected f32 of shape (3,); got float64 of shape (3,)"),
    ],
)
def test_arguments_that_do_not_fit(change: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(CallError, match=re.escape(message)):
        argument_memory(ARRAYS, {**GIVEN, **change}, {"n": 3})


def test_a_missing_argument() -> None:
    with pytest.raises(CallError, match=r"array 'z' is missing; expected f32 of shape \(3,\)"):
        argument_memory(ARRAYS, {"x": GIVEN["x"]}, {"n": 3})


def test_parameters_must_satisfy_the_context() -> None:
    context = isl.Set("[n, m] -> { : 1 <= n <= m }")
    check_parameters(context, {"n": 2, "m": 2})
    with pytest.raises(CallError, match="n = 3, m = 2 violates "):
        check_parameters(context, {"n": 3, "m": 2})
    with pytest.raises(CallError, match="parameter 'm' has no value"):
        check_parameters(context, {"n": 3})


def nibbles(role: Role) -> Array:
    return Array("w", as_dtype("i4"), (n,), role, ("d0",), rows=Rows.PADDED)


def test_packed_arguments_are_unpacked_and_packed_again() -> None:
    arrays = {"w": nibbles(Role.INOUT)}
    given = np.array([0x21, 0xF8, 0xA7], np.uint8)
    memory = argument_memory(arrays, {"w": given}, {"n": 5})
    assert memory.arrays["w"].tolist() == [1, 2, -8, -1, 7]
    memory.write("w", (4,), 3)
    assert [hex(byte) for byte in results(arrays, memory)["w"]] == ["0x21", "0xf8", "0xa3"]
    assert given[2] == 0xA7


def test_packed_outputs_that_are_not_given_begin_undefined() -> None:
    arrays = {"w": nibbles(Role.OUTPUT)}
    memory = argument_memory(arrays, {}, {"n": 3})
    memory.write("w", (0,), 1)
    assert results(arrays, memory)["w"].tolist() == [0x51, 0x05]


def test_a_packed_buffer_of_another_length() -> None:
    with pytest.raises(
        CallError, match=r"array 'w': expected a buffer of uint8 of shape .3,., for i4 of shape"
    ):
        argument_memory({"w": nibbles(Role.INPUT)}, {"w": np.zeros(5, np.uint8)}, {"n": 5})
