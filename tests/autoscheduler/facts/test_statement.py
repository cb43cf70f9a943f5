"""Facts of statements, and what the cost model makes of them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import polysched as ps
from polysched.autoscheduler.cost.statement import statement_cost
from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import f32, f64
from polysched.ir.semantics.memory import concrete_shape
from polysched.lower import compile
from polysched.machine.load import load_machine
from polysched.machine.presets import PRESETS
from polysched.user import Schedule
from tests.support import kernels
from tests.support.effort import sampled

AVX512 = PRESETS["skylake-avx512"]


def facts_of(schedule: Schedule, statement: str = "S", size: int = 1000) -> StatementFacts:
    sizes = dict.fromkeys(schedule.kernel.parameters, size)
    return statement_facts(schedule.program, statement, sizes)


def name_of(kernel: Kernel) -> str:
    return next(iter(kernel.statements))


def test_bounds_of_a_triangle_link_its_loops() -> None:
    kernel = kernels.grid(triangular=True, dtype=f64)
    loops = {loop.name: loop for loop in facts_of(Schedule(kernel)).loops}
    assert loops["i"].bounded_by == {"j"}
    assert loops["j"].bounded_by == {"i"}
    assert not facts_of(Schedule(kernels.grid(dtype=f64))).loop("i").bounded_by


def test_subscripts_are_no_arithmetic() -> None:
    facts = facts_of(Schedule(kernels.jacobi(dtype=f64)), name_of(kernels.jacobi()))
    assert facts.operations.slow == 0
    assert facts.operations.calls == 0
    assert facts.element_bits == 64


def test_the_parts_of_a_split_have_their_strides() -> None:
    schedule = Schedule(kernels.scale(dtype=f32)).split("i", 16, ("o", "k"))
    (target, *_) = facts_of(schedule).accesses
    assert dict(target.strides) == {"o": 64, "k": 4}


def test_lanes_far_apart_cost_more_than_neighbors() -> None:
    grid = Schedule(kernels.grid(400, 400, dtype=f32))
    rows = statement_cost(facts_of(grid.reorder("j", "i").vectorize("i", 16)), AVX512)
    columns = statement_cost(facts_of(grid.vectorize("j", 16)), AVX512)
    assert rows.cycles > 2 * columns.cycles


@pytest.mark.parametrize(
    "make", sampled([kernels.matmul, kernels.jacobi, kernels.seidel, kernels.prefix], 2)
)
def test_strict_order_gives_the_same_bits_as_the_program_as_written(
    make: Callable[..., Kernel],
) -> None:
    # Contracted to FMAs, a product may be rounded or not, depending on the code around it.
    kernel, machine = replace(make(dtype=f64), fp_contract=False), load_machine()
    sizes = dict.fromkeys(kernel.parameters, 37)
    generator = np.random.default_rng(1)
    arrays = {
        name: generator.standard_normal(concrete_shape(array.shape, sizes))
        for name, array in kernel.arrays.items()
    }
    optimized = optimize_schedule(Schedule(kernel), machine).schedule
    results = []
    for schedule in (Schedule(kernel), optimized):
        run = {name: contents.copy() for name, contents in arrays.items()}
        compile(schedule, machine)(**run, **sizes)
        results.append(run)
    for name, expected in results[0].items():
        assert np.array_equal(expected, results[1][name]), name


def test_threads_share_only_loops_with_enough_work() -> None:
    kernel = kernels.grid()
    sizes = dict.fromkeys(kernel.parameters, 1000)
    assert "parallel" in ps.optimize(kernel, AVX512, threads=4, sizes=sizes).trace()
    assert "parallel" not in ps.optimize(kernel, AVX512, sizes=sizes).trace()
    small = dict.fromkeys(kernel.parameters, 8)
    assert "parallel" not in ps.optimize(kernel, AVX512, threads=4, sizes=small).trace()


def test_a_machine_without_wide_vectors() -> None:
    narrow = ps.optimize(kernels.scale(dtype=f32), PRESETS["generic"])
    assert "lanes=4" in narrow.trace()
