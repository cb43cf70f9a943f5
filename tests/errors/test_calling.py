"""What compiling and calling says where memory, names or arguments do not allow it."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, OutOfMemoryError


def _through_a_temporary(name: str, *, shape: tuple[int, ...] | None = None) -> ps.Schedule:
    """y = exp(x) + 1 by way of the diagonal of a square temporary."""
    build = ps.KernelBuilder(name)
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", ps.f32, (10,)), build.output("y", ps.f32, (10,))
    t = build.temporary("t", ps.f32, shape or (n + 9, n + 9))
    with build.loops(i=10) as i:
        t[i, i] = ps.exp(x[i])
    with build.loops(i=10) as i:
        y[i] = t[i, i] + 1.0
    return ps.Schedule(build.kernel())


@pytest.mark.parametrize("size", [2**32, 2**40])
def test_a_workspace_whose_size_overflows(size: int) -> None:
    run = ps.compile(_through_a_temporary("huge"))
    output = np.full(10, 7, np.float32)
    with pytest.raises(OutOfMemoryError, match="kernel 'huge': no memory for its workspace; noth"):
        run(np.zeros(10, np.float32), output, n=size)
    np.testing.assert_array_equal(output, 7)


def test_a_size_at_which_subscripts_overflow() -> None:
    run = ps.compile(_through_a_temporary("huge"))
    output = np.full(10, 7, np.float32)
    with pytest.raises(CallError, match=r"kernel 'huge' requires n <= \d+; got n = 46116860"):
        run(np.zeros(10, np.float32), output, n=2**62)
    np.testing.assert_array_equal(output, 7)


def test_a_literal_workspace_whose_size_overflows() -> None:
    run = ps.compile(_through_a_temporary("huge", shape=(2**40, 2**40)))
    with pytest.raises(OutOfMemoryError, match="no memory for its workspace"):
        run(np.zeros(10, np.float32), n=1)


@pytest.mark.parametrize("extents", [(2**44,), (2**40, 2**40)])
def test_an_output_that_does_not_fit_into_memory(extents: tuple[int, ...]) -> None:
    build = ps.KernelBuilder("wide")
    y = build.output("y", ps.f32, extents)
    with build.loops(i=10) as i:
        y[(i,) * len(extents)] = 1.0
    run = ps.compile(ps.Schedule(build.kernel()))
    with pytest.raises(OutOfMemoryError, match=r"kernel 'wide': output 'y' of shape .* does not"):
        run()


@pytest.mark.parametrize("name", ["free", "aligned_alloc", "expf", "memcpy"])
def test_a_kernel_named_as_a_function_that_it_may_call(name: str) -> None:
    with pytest.raises(ps.LoweringError, match=f"a kernel cannot be named '{name}': its code may"):
        ps.compile(_through_a_temporary(name))


@pytest.mark.parametrize("name", ["main", "malloc", "int", "größe", "printf"])
def test_other_names_of_c_are_names_as_any(name: str) -> None:
    x = np.linspace(-1, 1, 10, dtype=np.float32)
    result = ps.compile(_through_a_temporary(name))(x, n=1)
    np.testing.assert_allclose(result, np.exp(x) + 1, rtol=1e-6)


class _Tensor:
    """A DLPack tensor with whatever device and error."""

    def __init__(self, device: object, error: Exception | None = None) -> None:
        self.device = device
        self.error = error

    def __dlpack__(self, **options: object) -> object:
        assert self.error is not None
        raise self.error

    def __dlpack_device__(self) -> object:
        return self.device


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (_Tensor(None), "array 'x': its __dlpack_device__.. gives no pair of device type and numb"),
        (_Tensor, "array 'x': its __dlpack_device__.. gives no pair"),
        (_Tensor((1, 0), AttributeError("gone")), "array 'x': its DLPack export cannot be viewed"),
        (_Tensor((2, 0)), "array 'x' is a DLPack tensor on a device of type 2"),
    ],
)
def test_tensors_that_cannot_be_read(tensor: object, message: str) -> None:
    run = ps.compile(_through_a_temporary("reading"))
    with pytest.raises(ps.CallError, match=message):
        run(tensor, n=1)
