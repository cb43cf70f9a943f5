from polysched.ir.expr.dtypes import i8
from polysched.library.matmul.config import Config
from polysched.library.matmul.explain import explain
from polysched.library.matmul.kernel import Sizes
from polysched.library.matmul.operands import Stored
from polysched.library.matmul.plan import plan
from polysched.library.matmul.problem import Problem
from polysched.machine.load import load_machine
from tests.library.matmul.products import COMPUTED, TRANSPOSED

MACHINE = load_machine("skylake-avx512")


def explained(problem: Problem, threads: int = 1) -> str:
    return explain(plan(problem, MACHINE, threads), problem, MACHINE)


def test_a_config() -> None:
    text = explain(Config(inner_m=6, inner_n=64), Problem(Sizes(256, 256, 256)), MACHINE)
    assert text.splitlines() == [
        "256 x 256 x 256 f32 on 'skylake-avx512'",
        "register tile: 6 x 64, 24 vectors of 16 columns (hides the latency of 8 FMAs), 29 of 32 "
        "registers, 10 loads for 24 FMAs",
        "threads: one",
        "blocks: none; a panel of b has 64 KiB, the caches 32 KiB and 1,024 KiB",
        "b: packed into panels (256 KiB, fits the L2 cache, read by 43 tiles of rows)",
        "loops: in im ik around the register tile",
    ]


def test_rows_apart() -> None:
    problem = Problem(Sizes(128, 64, 64), a=Stored(strides=(70, 1)), strides_out=(4096, 1))
    text = explained(problem)
    assert text.startswith(
        "128 x 64 x 64 f32 on 'skylake-avx512', rows of a 70 and rows of out 4096"
    )
    assert "b: read in place" in text
    assert "b: packed into panels" in explained(
        Problem(Sizes(128, 64, 64), b=Stored(strides=(4096, 1)))
    )


def test_what_is_clipped() -> None:
    text = explain(Config(m_threads=9, n_block=512), Problem(Sizes(12, 64, 8)), MACHINE)
    assert "m_threads: 2 instead of 9, which does not fit the problem or the tile" in text
    assert "n_block: left out instead of 512, which does not fit" in text


def test_threads() -> None:
    assert "threads: one; 4,096 operations are too few" in explained(Problem(Sizes(16, 16, 8)), 2)
    few = explained(Problem(Sizes(64, 64, 16384)), 2)
    assert "threads: 2 parts of at most 8192 terms, sums added up at the end" in few
    batch = explained(Problem(Sizes(64, 64, 64, batch=32)), 2)
    assert batch.startswith("32 products of 64 x 64 x 64")
    assert "threads: share the 32 products" in batch


def test_sums_of_another_type() -> None:
    assert "8 x 8 x 8 i8, summed in i32 on" in explained(Problem(Sizes(8, 8, 8), i8))


def test_latency_that_is_not_hidden() -> None:
    assert "(too few to hide the latency of 8 FMAs)" in explained(Problem(Sizes(1, 64, 8)))


def test_dot_products() -> None:
    text = explained(Problem(Sizes(4, 1024, 1024), b=TRANSPOSED))
    assert "register tile: 4 x 4, 16 vectors of 16 terms of a sum (hides" in text
    assert "21 of 32 registers, 8 loads for 16 FMAs" in text


def test_b_from_memory() -> None:
    text = explained(Problem(Sizes(1, 8192, 8192)))
    assert "b: read in place (262,144 KiB, in memory, read once)" in text
    assert "a: a block of it packed, so that its rows do not meet" in text


def test_a_computed_operand() -> None:
    few, many = (Problem(Sizes(m, 512, 512), b=COMPUTED) for m in (4, 512))
    assert "b: computed in registers (1" in explained(few)
    assert "b: computed for each panel (1" in explained(many)


def test_chains() -> None:
    text = explained(Problem(Sizes(1, 16, 1000)))
    assert "8 vectors of 16 columns (hides the latency of 8 FMAs), 10 of 32" in text
    assert "sums: 8 accumulators each, which take the terms in turn, added at the end" in text
    assert "sums:" not in explained(Problem(Sizes(64, 64, 64)))
