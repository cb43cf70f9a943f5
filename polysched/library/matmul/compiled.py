"""The compiled kernels behind ``matmul``: one for each kind of product, for this machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache

from polysched.ir.dtypes import DType
from polysched.library.matmul.finish import Finish, epilogue_of, finish_kernel
from polysched.library.matmul.groups import grouping_of
from polysched.library.matmul.kernel import Sizes, Stack, matmul_kernel
from polysched.library.matmul.operands import Made
from polysched.library.matmul.plan import plan
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.schedule import matmul_schedule
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.collection import collection_paused
from polysched.runtime.kernel import CompiledKernel
from polysched.user import Schedule

_KERNELS = 128


@lru_cache(maxsize=_KERNELS)
def product_kernel(
    problem: Problem,
    stacks: tuple[Stack, ...],
    finish: Finish,
    threads: int,
    machine: Machine | None = None,
) -> CompiledKernel:
    """The kernel of a product and what becomes of it, planned for a number of threads.

    What an operand is made of is computed for each copy where it is packed; an ``a`` that is not is
    computed all at once, a ``b`` in registers. By default it is for the machine that it runs on.
    """
    machine = machine or host()
    with collection_paused():
        sizes, config = problem.sizes, plan(problem, machine, threads)
        b = problem.b
        kernel = matmul_kernel(
            *sizes[:3],
            dtype=problem.dtype,
            a=problem.a,
            b=replace(b, is_inlined=not config.pack_b) if isinstance(b, Made) else b,
            batch=stacks,
            accumulate=finish.updates,
            epilogue=epilogue_of(finish, sizes, problem.total),
            strides_out=problem.strides_out,
            grouping=grouping_of(problem, machine),
        )
        return compile(matmul_schedule(kernel, config, machine), machine)


@lru_cache(maxsize=_KERNELS)
def finish_alone(sizes: Sizes, dtype: DType, finish: Finish) -> CompiledKernel:
    """The kernel of what becomes of sums of a type that are 0."""
    machine = host()
    schedule = Schedule(finish_kernel(finish, sizes, dtype))
    return compile(schedule.vectorize("n", machine.lanes(dtype.bits)), machine)


@cache
def host() -> Machine:
    """The machine that this runs on."""
    return load_machine(None)
