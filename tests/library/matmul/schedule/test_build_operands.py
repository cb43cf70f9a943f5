"""Schedules of products with computed operands, and of stacks of products."""

from typing import Any

import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.tree import path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i8
from polysched.ir.expr.functions import cast
from polysched.ir.semantics.bit_packing import pack_bits
from polysched.library.matmul.kernel.declare import Sizes, Stack, matmul_kernel
from polysched.library.matmul.kernel.operands import ComputedOperand, Element
from polysched.library.matmul.plan.config import Config
from tests.library.matmul.kernel.test_declare import STACKS, stacked_operands, without_repeats
from tests.library.matmul.products import (
    AVX512,
    assert_right,
    coded_operands,
    coded_product,
    codes_by_columns,
    codes_by_rows,
    operands,
    product,
    scheduled,
)
from tests.library.matmul.schedule.test_build import (
    BLOCKS,
    FIELDS,
    SIZES,
    SMALL,
    is_parallel,
    named,
)
from tests.support.differential import NO_CACHE
from tests.support.effort import covering, sampled


@covering(
    1,
    stacks=STACKS,
    fields=[{}, {"parallel_batch": True}, {"m_threads": 2}, {"k_threads": 2}, BLOCKS],
)
def test_stacks(stacks: tuple[Stack, ...], fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields})
    a, b = stacked_operands(stacks, SIZES)
    inputs = (without_repeats(a, SIZES.m), without_repeats(b, SIZES.k))
    kernel = matmul_kernel(*SIZES[:3], batch=stacks)
    options = {"threads": 2} if is_parallel(kernel, config) else {}
    assert_right(kernel, config, *inputs, expected=product(a, b), **options)


PACKED = [
    {"pack_a": True, "m_block": 2},
    {"pack_a": True, "m_block": 2, "m_threads": 2},
    {"pack_a": True, "pack_b": False, "k_block": 5, "k_threads": 2},
]


@pytest.mark.parametrize("fields", sampled([*FIELDS, *PACKED], 4), ids=named)
def test_computed_operands(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields})
    kernel = matmul_kernel(
        *SIZES[:3],
        a=ComputedOperand(codes_by_rows(SIZES)),
        b=ComputedOperand(codes_by_columns(SIZES)),
    )
    inputs = coded_operands(SIZES)
    schedule = scheduled(kernel, config)
    assert schedule.check().is_legal
    found = schedule.compile(cache=NO_CACHE)(**inputs)
    np.testing.assert_array_equal(found, coded_product(inputs))
    for operand, is_packed in (("a", config.pack_a), ("b", config.pack_b)):
        below = {loop.name for loop in path(schedule.program.tree, f"produce_{operand}")}
        assert is_packed == bool(below & {"im", "in", "ik", "om", "on", "ok", "pm", "pk"})


def test_a_computed_operand_is_converted_in_vectors() -> None:
    kernel = matmul_kernel(60, 256, 64, b=ComputedOperand(_halves))
    schedule = scheduled(kernel, Config(inner_m=6, inner_n=64), AVX512)
    text = schedule.show("asm", AVX512)
    assert "vcvtdq2ps" in text
    assert "vcvtsi2ss" not in text


def _halves(build: KernelBuilder) -> Element:
    weights = build.input("weights", i8, (64, 256))
    return lambda term, column: cast(weights[term, column], f32) * 0.5


@pytest.mark.parametrize("fields", [{}, {"dot_form": True, "inner_n": 2}, BLOCKS], ids=named)
def test_a_computed_operand_in_registers(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields, "pack_b": False})
    inlined = ComputedOperand(codes_by_columns(SIZES), is_inlined=True)
    kernel = matmul_kernel(*SIZES[:3], b=inlined)
    inputs = coded_operands(SIZES)
    del inputs["codes"], inputs["scale"]
    a, b = operands(SIZES)
    expected = product(a, b * inputs["gain"])
    assert_right(kernel, config, a, *inputs.values(), expected=expected)
    assert "b" not in kernel.arrays


@pytest.mark.parametrize("sizes", [SIZES, Sizes(5, 16, 16), Sizes(7, 1, 33)], ids=str)
def test_packed_bits_are_unpacked_as_they_lie(sizes: Sizes) -> None:
    def declared(build: KernelBuilder) -> Element:
        bits = build.input("bits", "u3", (sizes.n, sizes.k), rows="padded")
        return lambda term, column: cast(bits[column, term], f32)

    a, b = operands(sizes)
    b = np.abs(b) % 8
    bits = pack_bits(b.T.astype("u1"), "u3", rows="padded", overflow="raise")
    kernel = matmul_kernel(*sizes[:3], b=ComputedOperand(declared))
    assert_right(kernel, SMALL, a, bits, expected=product(a, b))
    tree = scheduled(kernel, SMALL).program.tree
    below = [loop.name for loop in path(tree, "produce_b")]
    assert "in" in below or sizes.n == 1


def test_a_computed_stack() -> None:
    def declared(build: KernelBuilder) -> Element:
        codes = build.input("codes", i8, (2, SIZES.m, SIZES.k))
        return lambda row, term, at: cast(codes[at, row, term], f32)

    a, b = operands(SIZES._replace(batch=2), i8, stacked=True)
    stacks = (Stack(2),)
    kernel = matmul_kernel(*SIZES[:3], batch=stacks, a=ComputedOperand(declared))
    config = Config(**{**vars(SMALL), "parallel_batch": True, "pack_a": True})
    assert_right(kernel, config, a, b.astype(np.float32), expected=product(a, b), threads=2)


INLINED = ComputedOperand(codes_by_columns(SIZES), is_inlined=True)


@pytest.mark.parametrize(
    ("operand", "fields"),
    [
        ("a", {"pack_a": True, "m_block": 2, "pack_b": False}),
        ("a", {"prefetch_a": True, "pack_b": False}),
        ("b", {"pack_b": True}),
    ],
    ids=str,
)
def test_what_stands_in_the_sums_cannot_be_packed(operand: str, fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields})
    asked = next(field for field, value in fields.items() if value is True)
    with pytest.raises(ScheduleError, match=f"{asked}=True, and '{operand}' is not an array"):
        scheduled(matmul_kernel(*SIZES[:3], **{operand: INLINED}), config)


@pytest.mark.parametrize("fields", [{}, BLOCKS], ids=named)
def test_a_left_operand_in_registers(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields, "pack_a": False})
    kernel = matmul_kernel(*SIZES[:3], a=ComputedOperand(codes_by_rows(SIZES), is_inlined=True))
    inputs = coded_operands(SIZES)
    a, b = operands(SIZES)
    expected = product(a * inputs["scale"][:, None], b)
    assert_right(kernel, config, inputs["codes"], inputs["scale"], b, expected=expected)
