"""Lower bound of the cost of a program, and the starts that a search near it leaves out."""

import pytest

from polysched.autoscheduler import driver
from polysched.autoscheduler.cost.bound import least_cycles
from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.proof import Proved, proved
from polysched.autoscheduler.recipes import RECIPES
from polysched.autoscheduler.search import Context, searched, start
from polysched.frontends.scop import parse_c
from polysched.ir.core.kernel import Kernel
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.effort import covering

MACHINE = PRESETS["skylake-avx512"]
PRODUCT = """
void product(int n, const double A[n][n], const double B[n][n], double C[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] = 0.0;
            for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];
        }
}
"""


def product() -> Kernel:
    return parse_c(PRODUCT).kernel


@covering(
    1,
    make=[product, kernels.scale, kernels.grid, kernels.prefix, kernels.seidel, kernels.jacobi],
    machine=["skylake-avx512", "haswell-avx2"],
)
def test_no_answer_is_predicted_below_the_bound(make: object, machine: str) -> None:
    kernel: Kernel = make()  # type: ignore[operator]
    made = optimize_schedule(Schedule(kernel), PRESETS[machine])
    least = least_cycles(made.start.program, made.machine, made.sizes)
    assert 0 < least <= made.after.cycles
    context = Context(made.machine, made.sizes, 1, RECIPES)
    kept = searched(start(made.start, context), context)
    assert least_cycles(made.start.program, made.machine, made.sizes, apart=True) <= kept.cycles


def test_the_bound_is_that_of_the_scarcer_resource() -> None:
    # 800^3 products on two units of 8 lanes; a row of a long array passes from memory once.
    sizes = {"n": 800}
    products = 800**3 / (2 * 8)
    assert least_cycles(Schedule(product()).program, MACHINE, sizes) >= products
    copy = Schedule(kernels.scale())
    (short,), (long,) = (
        [least_cycles(copy.program, MACHINE, dict.fromkeys(copy.kernel.parameters, size))]
        for size in (1000, 10**8)
    )
    assert long > 10**5 * short * 1.5, "traffic counts behind the caches only"


def test_the_search_ends_near_the_bound() -> None:
    told: list[str] = []
    made = optimize_schedule(Schedule(product()), MACHINE, tell=told.append)
    searches = [line for line in told if line.startswith("searching start")]
    assert searches == ["searching start 1"], "the program as written would be the second start"
    least = least_cycles(made.start.program, MACHINE, made.sizes)
    assert least >= driver.NEAR_LEAST * made.after.cycles


def test_starts_left_out_are_searched_if_the_proof_refuses_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0

    def refusing(*arguments: object) -> Proved | None:
        nonlocal calls
        calls += 1
        return None if calls == 1 else proved(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(driver, "proved", refusing)
    made = optimize_schedule(Schedule(product()), MACHINE)
    assert calls == 2
    assert made.after.cycles < made.before.cycles
