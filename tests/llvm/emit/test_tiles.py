"""AMX code: its assembly, and its results by emulation where the processor has no AMX."""

from __future__ import annotations

import re

import numpy as np
import pytest

from polysched.ir.expr.dtypes import DType
from polysched.ir.semantics.reference import run_reference
from polysched.lower import compile, limited_loops, show
from polysched.machine.detect import detect_host
from polysched.vector.interpret import interpreter
from polysched.vector.pass_list import vector_program
from polysched.vector.verify import verify
from tests.support.amx import emulated
from tests.support.differential import NO_CACHE, AnyArray
from tests.support.effort import covering
from tests.support.tile_programs import PRODUCTS, Product, tiled

SHAPES = ((32, 32, 128), (37, 41, 200), (5, 3, 64), (1, 1, 4), (33, 17, 132), (16, 16, 4))


def contents(product: Product, shape: tuple[int, int, int], seed: int) -> dict[str, AnyArray]:
    """Operands over the whole range of their types, and a result to overwrite."""
    m, n, k = shape
    generator = np.random.default_rng(seed)

    def operand(dtype: DType, *extents: int) -> AnyArray:
        if dtype.is_float:
            return generator.standard_normal(extents).astype(dtype.numpy())
        return generator.integers(dtype.lowest, dtype.highest + 1, extents).astype(dtype.numpy())

    terms = product.terms
    return {
        "a": operand(product.a, m, k),
        "b": operand(product.b, k // terms, n, terms),
        "c": np.full((m, n), 77, product.total.numpy()),
    }


def innermost_loop(assembly: str) -> list[str]:
    """The instructions of the loop with most products."""
    blocks = re.split(r"^\.\w+:.*$", assembly, flags=re.MULTILINE)
    (block,) = (block for block in blocks if "\ttdp" in block)
    lines = [line.strip() for line in block.split("\n") if line.strip()]
    (end,) = (at for at, line in enumerate(lines) if line.startswith("jne") and "tdp" not in line)
    return lines[: end + 1]


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.instruction)
def test_four_products_for_four_loads(product: Product) -> None:
    assembly = show(tiled(product, 64, 64, 256), "asm", "sapphirerapids")
    loop = innermost_loop(assembly)
    names = [line.split()[0] for line in loop]
    assert names.count("tileloadd") == names.count(product.instruction) == 4
    assert not {"tilestored", "tilezero", "ldtilecfg"} & {*names}
    # One configuration for the whole kernel, and each sum is stored once.
    assert [assembly.count(f"\t{name}") for name in ("ldtilecfg", "tilerelease")] == [1, 1]
    assert assembly.count("\ttilestored") == 4


@covering(1, shape=SHAPES, product=PRODUCTS)
def test_results(
    product: Product, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine code, the vector program and the declared kernel; partial tiles too."""
    schedule, given = tiled(product, *shape), contents(product, shape, seed=sum(shape))
    with emulated(monkeypatch) as (machine, counts):
        result = given["c"].copy()
        compile(schedule, machine, cache=NO_CACHE)(**{**given, "c": result})
        assert counts["tdp"] > 0 or detect_host().has("amx-tile")
        assert counts["ldtilecfg"] == counts["tilerelease"]
    m, n, k = shape
    b = given["b"].transpose(0, 2, 1).reshape(k, n)
    if product.total.is_float:
        exact = given["a"].astype(np.float64) @ b.astype(np.float64)
        assert np.abs(result - exact).max() < 1e-6 * k
    else:
        wide = given["a"].astype(np.int64) @ b.astype(np.int64)
        np.testing.assert_array_equal(result, wide.astype(np.int32))
    if m * n * k > 20_000:
        return
    vectors = vector_program(limited_loops(schedule), machine)
    verify(vectors)
    np.testing.assert_array_equal(interpreter(vectors)(given, {})["c"], result)
    if not product.total.is_float:
        expected = run_reference(schedule.kernel, given, {})
        np.testing.assert_array_equal(expected["c"], result)
