import numpy as np
import pytest

from polysched.cli.inputs import parameter_values, random_arrays
from polysched.errors import CallError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import ALL_DTYPES, f32, i32
from tests.support import packed_kernels
from tests.support.indirect import gather


def every_type() -> Kernel:
    build = KernelBuilder("every_type")
    n, _ = build.parameter("n", minimum=1), build.parameter("m", minimum=2)
    inputs = [build.input(f"in_{dtype}", dtype, (n, 3)) for dtype in ALL_DTYPES]
    temporary, out = build.temporary("t", f32, (n,)), build.output("out", f32, (n,))
    with build.loops(i=n) as i:
        temporary[i] = inputs[0][i, 0]
        out[i] = temporary[i]
    return build.kernel()


def test_arrays_have_declared_types_and_shapes() -> None:
    arrays = random_arrays(every_type(), {"n": 50, "m": 2}, seed=1)
    assert set(arrays) == {f"in_{dtype}" for dtype in ALL_DTYPES} | {"out"}
    for dtype in ALL_DTYPES:
        array = arrays[f"in_{dtype}"]
        assert (array.dtype, array.shape) == (dtype.numpy(), (50, 3))
        assert array.ctypes.data % 64 == 0
        assert len(np.unique(array)) > 1
    assert not arrays["out"].any()


def test_ranges() -> None:
    arrays = random_arrays(every_type(), {"n": 5000, "m": 2}, seed=1)
    assert -1 <= arrays["in_f32"].min() < -0.9
    assert 0.9 < arrays["in_f64"].max() < 1
    assert (arrays["in_i8"].min(), arrays["in_i8"].max()) == (-8, 7)
    assert (arrays["in_u64"].min(), arrays["in_u64"].max()) == (0, 15)


def test_seed_decides() -> None:
    first, same, other = (
        random_arrays(every_type(), {"n": 9, "m": 2}, seed)["in_f32"] for seed in (4, 4, 5)
    )
    assert (first == same).all()
    assert (first != other).any()


def test_parameters() -> None:
    assert parameter_values(every_type(), {"m": 3, "n": 4}) == {"n": 4, "m": 3}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({}, "needs values of 'n', 'm'; pass --size n=... --size m=..."),
        ({"n": 1}, "needs values of 'm'; pass --size m=..."),
        ({"n": 1, "m": 2, "k": 3}, "has no parameter 'k'; known are 'm', 'n'"),
        ({"n": 1, "m": 1}, "requires .*; got n = 1, m = 1"),
    ],
)
def test_bad_parameters(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(CallError, match=message):
        parameter_values(every_type(), sizes)


def test_index_arrays_hold_values_of_their_declared_range() -> None:
    kernel = gather()
    idx = random_arrays(kernel, {"n": 200, "m": 3}, seed=1)["idx"]
    assert (idx.min(), idx.max()) == (0, 2)


def test_no_value_lies_in_the_declared_range() -> None:
    build = KernelBuilder("k")
    n = build.parameter("n")
    p, y = build.input("p", i32, (3,), values=(0, n)), build.inout("y", i32, (n,))
    with build.loops(i=3) as i:
        y[p[i]] = 1
    with pytest.raises(CallError, match=r"array 'p': no value lies in its declared range \(0, n\)"):
        random_arrays(build.kernel(), {"n": 0}, seed=1)


def test_packed_arrays_are_buffers_of_any_bits() -> None:
    kernel = packed_kernels.halves("i5", "contiguous")
    arrays = random_arrays(kernel, {"n": 50, "m": 3}, seed=1)
    for name in ("w", "v"):
        assert (arrays[name].dtype, arrays[name].shape) == (np.uint8, (94,))
        assert arrays[name].ctypes.data % 64 == 0
        assert arrays[name].max() > 127
