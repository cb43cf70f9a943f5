"""The recipe for contractions: roles of loops, tiles, packing; legal and right on odd sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

import polysched as ps
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.recipes.contraction import contraction
from polysched.autoscheduler.recipes.contraction_loops import Contraction, contraction_of
from polysched.autoscheduler.recipes.contraction_tile import register_tile_of
from polysched.ir.core.kernel import Kernel
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.pack import Pack
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees

AVX512 = PRESETS["skylake-avx512"]


def situation(kernel: Kernel, sizes: Mapping[str, int] | None = None) -> Situation:
    """The last nest of a kernel, which holds the contraction."""
    schedule = Schedule(kernel)
    *_, nest = outer_nests(schedule.program.tree)
    return Situation(schedule, nest, AVX512, dict(sizes or {}))


def found_in(kernel: Kernel) -> Contraction:
    found = contraction_of(situation(kernel))
    assert found is not None
    return found


def proposals(kernel: Kernel) -> list[Proposal]:
    return list(contraction(situation(kernel)))


def product(m: int, n: int, k: int, dtype: str = "f32", total: str | None = None) -> Kernel:
    build = ps.KernelBuilder("product")
    a, b = build.input("a", dtype, (m, k)), build.input("b", dtype, (k, n))
    c = build.inout("c", total or dtype, (m, n))
    with build.loops(i=m, j=n, k=k) as (i, j, t), build.statement("update"):
        c[i, j] += ps.cast(a[i, t], total or dtype) * ps.cast(b[t, j], total or dtype)
    return build.kernel()


def transposed(m: int, n: int, k: int, dtype: str = "f32") -> Kernel:
    build = ps.KernelBuilder("transposed")
    a, b = build.input("a", dtype, (m, k)), build.input("b", dtype, (n, k))
    c = build.inout("c", dtype, (m, n))
    with build.loops(i=m, j=n, k=k) as (i, j, t), build.statement("update"):
        c[i, j] += a[i, t] * b[j, t]
    return build.kernel()


def batched(count: int, m: int, n: int, k: int) -> Kernel:
    build = ps.KernelBuilder("batched")
    a, b = build.input("a", "f64", (count, m, k)), build.input("b", "f64", (count, k, n))
    c = build.inout("c", "f64", (count, m, n))
    with build.loops(z=count, i=m, j=n, k=k) as (z, i, j, t), build.statement("update"):
        c[z, i, j] += a[z, i, t] * b[z, t, j]
    return build.kernel()


def convolution(height: int, width: int, channels: int, out: int) -> Kernel:
    build = ps.KernelBuilder("convolution")
    image = build.input("image", "f32", (height + 2, width + 2, channels))
    weight = build.input("weight", "f32", (channels, 3, 3, out))
    c = build.inout("c", "f32", (height, width, out))
    with (
        build.loops(y=height, x=width, o=out, ky=3, kx=3, k=channels) as (y, x, o, ky, kx, k),
        build.statement("update"),
    ):
        c[y, x, o] += weight[k, ky, kx, o] * image[y + ky, x + kx, k]
    return build.kernel()


def triangle(n: int, k: int) -> Kernel:
    build = ps.KernelBuilder("triangle")
    a, b = build.input("a", "f64", (n, k)), build.input("b", "f64", (k, n))
    c = build.inout("c", "f64", (n, n))
    with (
        build.loops(i=n) as i,
        build.loops(j=(0, i + 1)) as j,
        build.loops(k=k) as t,
        build.statement("update"),
    ):
        c[i, j] += a[i, t] * b[t, j]
    return build.kernel()


def shortest(m: int, n: int, k: int) -> Kernel:
    build = ps.KernelBuilder("shortest")
    a, b = build.input("a", "i32", (m, k)), build.input("b", "i32", (k, n))
    c = build.inout("c", "i32", (m, n))
    with build.loops(i=m, j=n, k=k) as (i, j, t), build.statement("update"):
        c[i, j] = ps.minimum(c[i, j], a[i, t] + b[t, j])
    return build.kernel()


def test_roles_of_loops() -> None:
    found = found_in(convolution(20, 30, 16, 64))
    assert found.free == ("y", "x", "o")
    assert found.reductions == ("ky", "kx", "k")
    assert found.lane_loops() == ("o",)
    assert [operand.dimension_of("o") for operand in found.operands] == ["d3", None]


def test_a_tile_fits_the_registers_and_has_enough_sums() -> None:
    tile = register_tile_of(found_in(product(960, 960, 960)), "j", AVX512)
    assert tile is not None
    assert 20 <= tile.accumulators <= 28
    assert tile.height <= AVX512.caches[0].associativity


@pytest.mark.parametrize("kernel", [kernels.scale(), kernels.prefix(), kernels.jacobi()])
def test_other_nests_get_no_proposal(kernel: Kernel) -> None:
    assert contraction_of(situation(kernel, dict.fromkeys(kernel.parameters, 100))) is None


def test_small_products_are_not_packed() -> None:
    for proposal in proposals(product(64, 64, 64)):
        assert not any(isinstance(step, Pack) for step in proposal.steps)


def test_far_panels_are_packed() -> None:
    first = proposals(product(1000, 1000, 1000))[0]
    (pack,) = (step for step in first.steps if isinstance(step, Pack))
    assert pack.array == "b"


def test_a_transposed_operand_is_packed_with_its_lanes_last() -> None:
    first = proposals(transposed(100, 100, 100))[0]
    (pack,) = (step for step in first.steps if isinstance(step, Pack))
    assert (pack.array, pack.order) == ("b", ("d1", "d0"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: product(11, 37, 5),
        lambda: product(9, 33, 7, "i8", "i32"),
        lambda: product(9, 33, 7, "f32", "f64"),
        lambda: transposed(9, 20, 9, "f64"),
        lambda: batched(2, 9, 17, 5),
        lambda: convolution(3, 5, 2, 20),
        lambda: triangle(27, 6),
        lambda: shortest(9, 35, 6),
    ],
)
def test_all_proposals_are_legal_and_compute_the_same(make: Callable[[], Kernel]) -> None:
    kernel = make()
    made = proposals(kernel)
    assert made
    for proposal in made:
        schedule = applied(Schedule(kernel), proposal.steps)
        assert schedule is not None
        assert keeps_order(schedule.program, kernel.statements)
        assert check(schedule).is_legal
        assert_agrees(schedule, {})


def test_blocks_of_a_long_sum_are_legal() -> None:
    kernel = product(16, 64, 40_000)
    first = proposals(kernel)[0]
    assert "blocks of" in first.reason
    schedule = applied(Schedule(kernel), first.steps)
    assert schedule is not None
    assert check(schedule).is_legal
