import array
import threading
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import CallError
from polysched.ir.declare.builder import KernelBuilder
from polysched.machine.description import Machine
from polysched.runtime.cache import ENVIRONMENT_VARIABLE, ObjectCache
from polysched.runtime.compiling import compile_kernel
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.pipeline import CompileOptions

X, Y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
EXPECTED = [1, 3, 5, 7, 9]


@pytest.fixture
def kernel(saxpy, host: Machine) -> CompiledKernel:
    return saxpy.compiled(host)


# -- ways to call --


def test_output_passed_is_filled_and_returned(kernel: CompiledKernel) -> None:
    out = np.zeros(5, np.float32)
    assert kernel(X, Y, out) is out
    assert out.tolist() == EXPECTED


def test_output_left_out_is_allocated_aligned(kernel: CompiledKernel) -> None:
    first, second = kernel(X, Y), kernel(X, Y)
    assert first.tolist() == second.tolist() == EXPECTED
    assert not np.shares_memory(first, second)
    assert first.ctypes.data % 64 == second.ctypes.data % 64 == 0


def test_arrays_by_name_in_any_order(kernel: CompiledKernel) -> None:
    out = np.zeros(5, np.float32)
    assert kernel(y=Y, x=X).tolist() == EXPECTED
    assert kernel(out=out, y=Y, x=X) is out
    assert out.tolist() == EXPECTED
    assert kernel(Y, x=X).tolist() == EXPECTED


def test_parameters_by_name(kernel: CompiledKernel) -> None:
    assert kernel(X, Y, n=5).tolist() == EXPECTED
    assert kernel(X, Y, n=np.int32(5)).tolist() == EXPECTED


def test_other_shapes_after_the_first(kernel: CompiledKernel) -> None:
    for n in (5, 0, 1, 1000, 5):
        x = np.full(n, 3, np.float32)
        assert (kernel(x, x) == 9).all()
        assert kernel(x, x).shape == (n,)


def test_the_same_input_twice(kernel: CompiledKernel) -> None:
    assert kernel(X, X).tolist() == [0, 3, 6, 9, 12]


def test_buffers_dlpack_and_numpy_mixed(kernel: CompiledKernel) -> None:
    class Tensor:
        def __init__(self, memory: np.ndarray) -> None:
            self.__dlpack__ = memory.__dlpack__
            self.__dlpack_device__ = memory.__dlpack_device__

    out = array.array("f", [0] * 5)
    assert kernel(memoryview(X), Tensor(Y), out) is out
    assert out.tolist() == EXPECTED
    assert (
        kernel(X.tobytes() and memoryview(X.tobytes()).cast("f"), y=Tensor(Y)).tolist() == EXPECTED
    )


def test_read_only_inputs(kernel: CompiledKernel) -> None:
    x = X.copy()
    x.flags.writeable = False
    assert kernel(x, np.broadcast_to(Y, (1, 5))[0]).tolist() == EXPECTED


def _constant(outputs: int, inouts: int, host: Machine, status: int = 0) -> CompiledKernel:
    """A kernel that only returns ``status``."""
    build = KernelBuilder("constant")
    handles = [build.output(f"o{i}", "f32", (4,)) for i in range(outputs)]
    handles += [build.inout(f"u{i}", "f32", (4,)) for i in range(inouts)]
    with build.loops(i=4) as i:
        for handle in handles:
            handle[i] = 1.0
    pointers = ", ".join(["ptr"] * len(handles))
    text = f"define i32 @constant({pointers}) {{ ret i32 {status} }}"
    return compile_kernel(build.kernel(), text, host, cache=ObjectCache(None))


def test_an_array_may_be_called_self(host: Machine) -> None:
    build = KernelBuilder("k")
    out = build.output("self", "f32", (4,))
    with build.loops(i=4) as i:
        out[i] = 1.0
    text = "define i32 @k(ptr %a) { ret i32 0 }"
    kernel = compile_kernel(build.kernel(), text, host, cache=ObjectCache(None))
    memory = np.zeros(4, np.float32)
    assert kernel(self=memory) is memory


def test_several_outputs_make_a_tuple(host: Machine) -> None:
    kernel = _constant(2, 1, host)
    u, second = np.zeros(4, np.float32), np.zeros(4, np.float32)
    results = kernel(u)
    assert [result.shape for result in results] == [(4,), (4,)]
    assert kernel(u, o1=second)[1] is second


def test_no_output_gives_none(host: Machine) -> None:
    assert _constant(0, 1, host)(np.zeros(4, np.float32)) is None


def test_no_memory_for_the_workspace(host: Machine) -> None:
    with pytest.raises(
        MemoryError, match="kernel 'constant': no memory for its workspace; nothing"
    ):
        _constant(1, 0, host, status=1)()


# -- calls that do not fit --


def test_errors_name_kernel_and_array(kernel: CompiledKernel) -> None:
    with pytest.raises(
        CallError, match=r"kernel 'saxpy': array 'y' is of type list; expected a num"
    ):
        kernel(X, [1.0] * 5)
    with pytest.raises(CallError, match=r"kernel 'saxpy': array 'out' is of type NoneType"):
        kernel(X, Y, out=None)
    with pytest.raises(CallError, match=r"kernel 'saxpy': array 'y' has shape \(4,\); expected"):
        kernel(X, Y[:4])
    with pytest.raises(CallError, match=r"kernel 'saxpy' has no argument 'z'"):
        kernel(X, Y, z=3)


def test_a_call_that_fits_does_not_excuse_the_next(kernel: CompiledKernel) -> None:
    out = np.zeros(5, np.float32)
    kernel(X, Y, out)
    out.flags.writeable = False
    with pytest.raises(CallError, match="array 'out' is read-only"):
        kernel(X, Y, out)
    with pytest.raises(CallError, match="array 'x' is not contiguous"):
        kernel(np.zeros(10, np.float32)[::2], Y)
    with pytest.raises(CallError, match="array 'x' has its bytes swapped"):
        kernel(X.astype(">f4"), Y)
    assert out.tolist() == EXPECTED


@pytest.mark.parametrize("value", [5.0, "5", None, True, np.True_])
def test_parameter_that_is_no_integer(kernel: CompiledKernel, value: object) -> None:
    kernel(X, Y, n=5)
    with pytest.raises(CallError, match=r"parameter 'n' is .* of type \w+; expected an integer"):
        kernel(X, Y, n=value)


@pytest.mark.parametrize("shift", [-4, -1, 0, 1, 4])
def test_output_over_an_input(kernel: CompiledKernel, shift: int) -> None:
    memory = np.arange(20, dtype=np.float32)
    x, out = memory[8:13], memory[8 + shift : 13 + shift]
    with pytest.raises(
        CallError, match=r"arrays 'x' and 'out' overlap in memory, and 'out' is wri"
    ):
        kernel(x, Y, out)
    with pytest.raises(CallError, match=r"arrays 'y' and 'out' overlap in memory"):
        kernel(out=out, y=x, x=Y)
    assert memory.tolist() == list(range(20))


@pytest.mark.parametrize("shift", [-5, 5])
def test_neighbors_do_not_overlap(kernel: CompiledKernel, shift: int) -> None:
    memory = np.arange(20, dtype=np.float32)
    x, out = memory[8:13].copy(), memory[8 + shift : 13 + shift]
    assert kernel(memory[8:13], Y, out).tolist() == (2 * x + 1).tolist()


def test_two_outputs_in_one_place(host: Machine) -> None:
    memory, u = np.zeros(4, np.float32), np.zeros(4, np.float32)
    kernel = _constant(2, 1, host)
    with pytest.raises(CallError, match=r"arrays 'o0' and 'o1' overlap"):
        kernel(memory, memory, u)
    with pytest.raises(CallError, match=r"arrays 'o1' and 'u0' overlap"):
        kernel(u, o1=u)


# -- what a compiled kernel tells --


def test_attributes(kernel: CompiledKernel, saxpy, host: Machine) -> None:
    assert kernel.name == "saxpy"
    assert kernel.llvm == saxpy.llvm
    assert kernel.signature.array_names == ("x", "y", "out")
    assert "saxpy:" in kernel.assembly
    assert kernel.assembly is kernel.assembly
    expected = f"<CompiledKernel saxpy(x: f32[n], y: f32[n], out: f32[n], n) for {host.name}>"
    assert repr(kernel) == expected


def test_the_users_cache_is_the_default(
    saxpy, host: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    options = CompileOptions(code_generation=2)
    kernel = compile_kernel(saxpy.kernel, saxpy.llvm, host, options=options)
    assert kernel(X, Y).tolist() == EXPECTED
    assert len(list(tmp_path.iterdir())) == 1


# -- threads --


@pytest.mark.unguarded
def test_two_threads_are_in_one_kernel_at_once(meet, host: Machine) -> None:
    kernel = meet.compiled(host)
    state = np.array([0, 2, 0])
    threads = [threading.Thread(target=kernel, args=(state,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state.tolist() == [2, 2, 1]


def test_threads_with_different_shapes(kernel: CompiledKernel) -> None:
    failures: list[int] = []

    def run(start: int) -> None:
        for n in range(start, start + 200):
            x = np.full(n, n, np.float32)
            if not (kernel(x, x) == 3 * n).all():
                failures.append(n)

    threads = [threading.Thread(target=run, args=(start,)) for start in (0, 50, 100, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
