import polysched as ps
from polysched.bench.conv.kernel import best, conv2d_relu, tutorial
from polysched.inspect.fit import Kept, fit
from polysched.loops.ir.nodes import LoopProgram
from polysched.lower import lower
from polysched.machine.presets import PRESETS

HASWELL, SKYLAKE = PRESETS["haswell-avx2"], PRESETS["skylake-avx512"]


def copied(lanes: int, source: ps.DType = ps.f32, target: ps.DType = ps.f32) -> LoopProgram:
    build = ps.KernelBuilder("copied")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", source, (n,)), build.output("y", target, (n,))
    with build.loops(i=n) as i:
        y[i] = ps.cast(x[i], target)
    return lower(ps.Schedule(build.kernel()).vectorize("i", lanes))


def test_a_register_tile_that_fits() -> None:
    found = fit(lower(tutorial(conv2d_relu())), SKYLAKE)
    assert found.kept == (Kept("conv_local", 20, 20, in_registers=True),)
    assert (found.registers, found.lines()) == (20, ())


def test_a_register_tile_that_stays_in_memory() -> None:
    found = fit(lower(tutorial(conv2d_relu())), HASWELL)
    assert found.kept == (Kept("conv_local", 20, 40, in_registers=False),)
    assert found.registers == 0
    assert found.lines()[-1] == (
        "array 'conv_local': 20 values to be kept in 40 vector registers; there are 16, so they "
        "stay in memory: take smaller tiles"
    )


def test_a_tail_that_does_not_fit_either() -> None:
    found = fit(lower(best(conv2d_relu())), HASWELL)
    assert [(one.values, one.in_registers) for one in found.kept] == [(16, True), (24, False)]
    assert found.lines()[-1] == (
        "32 vector registers are needed at one time (32 for 'conv_local'); there are 16, so some "
        "go through memory: take smaller tiles"
    )


def test_vectors_that_are_too_wide_or_not_full() -> None:
    loop = "loop 'iv'"
    assert fit(copied(16), HASWELL).lines() == (
        f"{loop}: 16 lanes of f32 are 512 bits, 2 vectors of 256",
    )
    assert fit(copied(8), SKYLAKE).lines() == (
        f"{loop}: 8 lanes of f32 are 256 bits, and a vector has 512: 16 lanes fill it",
    )
    assert fit(copied(16), SKYLAKE).lines() == ()


def test_one_type_that_fills_a_vector_is_enough() -> None:
    assert fit(copied(16, ps.i8, ps.i32), SKYLAKE).lines() == ()
    assert fit(copied(64, ps.i8, ps.i32), SKYLAKE).lines() == ()
    assert fit(copied(32, ps.i8, ps.i32), SKYLAKE).lines()
