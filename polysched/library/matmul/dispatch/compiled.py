"""Compiled kernels of ``matmul``, cached by the kind of product."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache, partial

from polysched.ir.expr.dtypes import DType
from polysched.library.matmul.kernel.declare import Sizes, Stack, matmul_kernel
from polysched.library.matmul.kernel.epilogue import Epilogue, epilogue_builder, epilogue_kernel
from polysched.library.matmul.kernel.operands import ComputedOperand
from polysched.library.matmul.plan.problem import Problem
from polysched.library.on_demand import compiled, unscheduled
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.collection import collection_paused
from polysched.runtime.compiling import stored_kernel
from polysched.runtime.kernel import CompiledKernel

_KERNELS = 128


@lru_cache(maxsize=_KERNELS)
def product_kernel(
    problem: Problem,
    stacks: tuple[Stack, ...],
    epilogue: Epilogue,
    threads: int,
    machine: Machine | None = None,
) -> CompiledKernel:
    """Plan, prove and compile a product with its epilogue, by default for this machine.

    A computed operand that is packed is computed for each packed block. If it is not packed, all of
    ``a`` is computed first, and ``b`` is computed in registers.

    Products of stored arrays are found on disk by these arguments. A computed operand has a
    function, whose text does not determine its value.
    """
    machine = machine or host()
    make = partial(_made, problem, stacks, epilogue, threads, machine)
    if problem.computed_a or problem.computed_b:
        return make()
    description = repr((matmul_kernel.__name__, problem, stacks, epilogue, threads))
    return stored_kernel(description, machine, make)


def _made(
    problem: Problem, stacks: tuple[Stack, ...], epilogue: Epilogue, threads: int, machine: Machine
) -> CompiledKernel:
    with collection_paused():
        # Imported for a new kernel only, as in :mod:`polysched.library.on_demand`.
        from polysched.library.matmul.plan.planner import plan  # noqa: PLC0415
        from polysched.library.matmul.plan.vnni import vnni_layout_of  # noqa: PLC0415
        from polysched.library.matmul.schedule.build import matmul_schedule  # noqa: PLC0415

        sizes, config = problem.sizes, plan(problem, machine, threads)
        b = problem.b
        kernel = matmul_kernel(
            *sizes[:3],
            dtype=problem.dtype,
            result=problem.result,
            a=problem.a,
            b=replace(b, is_inlined=not config.pack_b) if isinstance(b, ComputedOperand) else b,
            batch=stacks,
            accumulate=epilogue.updates,
            epilogue=epilogue_builder(epilogue, sizes, problem.total, problem.result),
            strides_out=problem.strides_out,
            vnni=vnni_layout_of(problem, machine),
        )
        return compiled(matmul_schedule(kernel, config, machine), machine)


@lru_cache(maxsize=_KERNELS)
def epilogue_only(
    sizes: Sizes, dtype: DType, epilogue: Epilogue, result: DType | None = None
) -> CompiledKernel:
    """Compile the kernel of a product without terms: the epilogue of sums that are 0."""
    machine = host()

    def make() -> CompiledKernel:
        schedule = unscheduled(epilogue_kernel(epilogue, sizes, dtype, result))
        return compiled(schedule.vectorize("n", machine.lanes(dtype.bits)), machine)

    description = repr((epilogue_kernel.__name__, sizes, dtype, epilogue, result))
    return stored_kernel(description, machine, make)


@cache
def host() -> Machine:
    """The description of this machine."""
    return load_machine(None)
