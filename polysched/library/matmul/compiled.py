"""The compiled kernels behind ``matmul``: one for each kind of product, for this machine."""

from __future__ import annotations

from functools import cache, lru_cache

from polysched.ir.dtypes import DType
from polysched.library.matmul.finish import Finish, epilogue_of, finish_kernel
from polysched.library.matmul.kernel import Sizes, Stack, matmul_kernel
from polysched.library.matmul.plan import plan
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.schedule import matmul_schedule
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.kernel import CompiledKernel
from polysched.user import Schedule

_KERNELS = 128


@lru_cache(maxsize=_KERNELS)
def product_kernel(
    problem: Problem, stacks: tuple[Stack, ...], finish: Finish, threads: int
) -> CompiledKernel:
    """The kernel of a product and what becomes of it, planned for a number of threads."""
    machine = _host()
    sizes = problem.sizes
    kernel = matmul_kernel(
        sizes.m,
        sizes.n,
        sizes.k,
        dtype=problem.dtype,
        transpose_a=problem.transpose_a,
        transpose_b=problem.transpose_b,
        batch=stacks,
        accumulate=finish.updates,
        epilogue=epilogue_of(finish, sizes, problem.total),
        strides_a=problem.strides_a,
        strides_b=problem.strides_b,
        strides_out=problem.strides_out,
    )
    return compile(matmul_schedule(kernel, plan(problem, machine, threads), machine), machine)


@lru_cache(maxsize=_KERNELS)
def finish_alone(sizes: Sizes, dtype: DType, finish: Finish) -> CompiledKernel:
    """The kernel of what becomes of sums of a type that are 0."""
    machine = _host()
    schedule = Schedule(finish_kernel(finish, sizes, dtype))
    return compile(schedule.vectorize("n", machine.lanes(dtype.bits)), machine)


@cache
def _host() -> Machine:
    return load_machine(None)
