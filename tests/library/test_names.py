"""Machines and element types by name, as everywhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polysched.errors import KernelError, MachineError
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import DType, f64
from polysched.library.convolution.kernel import convolution_kernel
from polysched.library.convolution.schedule import convolution_schedule
from polysched.library.convolution.size import Convolution, Epilogue
from polysched.library.gemv import gemv_kernel, gemv_schedule
from polysched.library.quantized import quantized_gemv_kernel, quantized_gemv_schedule
from polysched.library.reduce import reduce_kernel, reduce_schedule
from polysched.library.softmax import softmax_kernel, softmax_schedule
from polysched.machine.load import load_machine
from polysched.user import Schedule

KERNELS = (
    lambda dtype: convolution_kernel(
        Convolution(1, (6, 7), 8, 40, (3, 3)), Epilogue(activation="relu"), dtype=dtype
    ),
    lambda dtype: gemv_kernel(30, 70, dtype=dtype),
    lambda dtype: reduce_kernel("max", 30, 70, dtype=dtype),
    lambda dtype: reduce_kernel("sum", 30, 70, dtype=dtype),
    lambda dtype: softmax_kernel(30, 70, dtype=dtype),
)
SCHEDULES = (
    (KERNELS[0](f64), convolution_schedule),
    (KERNELS[1](f64), gemv_schedule),
    (KERNELS[2](f64), reduce_schedule),
    (KERNELS[4](f64), softmax_schedule),
    (quantized_gemv_kernel(30, 256), quantized_gemv_schedule),
)


@pytest.mark.parametrize(("kernel", "scheduled"), SCHEDULES)
def test_machines(kernel: Kernel, scheduled: Callable[..., Schedule]) -> None:
    preset, host = load_machine("haswell-avx2"), load_machine()
    assert scheduled(kernel, "haswell-avx2").steps == scheduled(kernel, preset).steps
    assert scheduled(kernel).steps == scheduled(kernel, "host").steps
    assert scheduled(kernel).steps == scheduled(kernel, host).steps
    with pytest.raises(MachineError, match="unknown machine 'hasswell'; did you mean 'haswell"):
        scheduled(kernel, "hasswell")


@pytest.mark.parametrize("made", KERNELS)
def test_element_types(made: Callable[[DType | str], Kernel]) -> None:
    named, plain = made("float64"), made(f64)
    assert {one.dtype for one in named.arrays.values()} == {f64}
    assert [str(one) for one in named.statements.values()] == [
        str(one) for one in plain.statements.values()
    ]
    with pytest.raises(KernelError, match="unknown element type 'f23'; did you mean 'f32'"):
        made("f23")
