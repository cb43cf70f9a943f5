"""``vdpbf16ps``: its model against the processor, and nests that it computes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import polysched as ps
from polysched.instructions.bf16_dot import bf16_dot
from polysched.ir.semantics.memory import AnyArray
from polysched.legality.verdicts.verdict import IllegalScheduleError
from polysched.lower import lower
from polysched.machine.detect import detect_host
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from polysched.vector.interpret import interpreter
from polysched.vector.pass_list import vector_program
from tests.support.differential import assert_agrees

needs_instruction = pytest.mark.skipif(
    not detect_host().has("avx512bf16"), reason="the processor has no AVX512_BF16"
)
N = 64


def dot(order: str = "any", n: int = N, terms: int = 2, dtype: ps.DType = ps.bf16) -> ps.Kernel:
    build = ps.KernelBuilder("dot")
    a, b = build.input("a", dtype, (n, terms)), build.input("b", dtype, (n, terms))
    s = build.inout("s", ps.f32, (n,))
    with build.loops(i=n, t=terms) as (i, t), build.statement("S", order=order):
        s[i] += a[i, t] * b[i, t]
    return build.kernel()


def tensorized(kernel: ps.Kernel) -> Schedule:
    return Schedule(kernel).vectorize("i", 16).unroll("t").tensorize("iv", "vdpbf16ps")


def random_numbers(exponents: tuple[int, int], shape: tuple[int, ...], seed: int) -> AnyArray:
    generator = np.random.default_rng(seed)
    scale = 2.0 ** generator.integers(*exponents, shape)
    return (generator.normal(size=shape) * scale).astype(np.float32)


EXPONENTS = ((-3, 3), (-12, 12), (-66, -60), (-70, -55), (60, 64), (-140, -120))


@needs_instruction
@pytest.mark.parametrize("exponents", EXPONENTS, ids=str)
def test_model_is_what_the_processor_computes(exponents: tuple[int, int]) -> None:
    a, b = (random_numbers(exponents, (N, 2), seed).astype(ml_dtypes.bfloat16) for seed in (1, 2))
    with np.errstate(over="ignore"):
        s = random_numbers((2 * exponents[0], 2 * exponents[1]), (N,), 3)
    with np.errstate(all="ignore"):
        expected = np.array(
            [
                bf16_dot(total, [{"a": x, "b": y} for x, y in zip(xs, ys, strict=True)])
                for total, xs, ys in zip(s, a, b, strict=True)
            ]
        )
    vectors = vector_program(lower(tensorized(dot())), load_machine("znver4"))
    interpreted = interpreter(vectors)({"a": a, "b": b, "s": s}, {})["s"]
    ps.compile(tensorized(dot()))(a, b, s)
    np.testing.assert_array_equal(s.view(np.uint32), expected.view(np.uint32))
    np.testing.assert_array_equal(interpreted.view(np.uint32), expected.view(np.uint32))


@needs_instruction
def test_small_integers_are_exact() -> None:
    assert "vdpbf16ps" in ps.show(tensorized(dot()), "asm")
    assert_agrees(tensorized(dot()), machine="host")


def test_exact_order_is_refused() -> None:
    schedule = tensorized(dot("exact"))
    with pytest.raises(IllegalScheduleError):
        ps.compile(schedule, "znver4")


def test_other_types_are_refused() -> None:
    with pytest.raises(ps.ScheduleError, match="f16"):
        tensorized(dot(dtype=ps.f16))


def test_machine_without_the_instruction() -> None:
    with pytest.raises(ps.LoweringError, match="'avx512bf16'"):
        ps.show(tensorized(dot()), "asm", "skylake-avx512")
