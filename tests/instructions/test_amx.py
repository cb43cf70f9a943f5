"""AMX: the declarations, and the model of the product of bf16."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.instructions.amx import (
    AMX_INSTRUCTIONS,
    amx_forms,
    amx_product,
    bf16_tile_dot,
)
from polysched.instructions.lookup import instruction_forms


@pytest.mark.parametrize("name", AMX_INSTRUCTIONS)
def test_declarations(name: str) -> None:
    assert instruction_forms(name, {}) == (name, amx_forms(name))
    for form in amx_forms(name):
        assert form.is_tile
        assert form.lane_dimensions == ("row", "lane")
        assert form.features[0] == "amx-tile"
        assert form.reassociates == (name == "tdpbf16ps")


def test_the_rows_of_operands_may_be_any_distance_apart() -> None:
    (form,) = amx_forms("tdpbusd")
    strides = {load.array: dict(form.strides(load)) for load in form.loads}
    assert strides == {
        "sums": {"row": None, "lane": 1, "group": 0, "term": 0},
        "a": {"row": None, "lane": 0, "group": 4, "term": 1},
        "b": {"row": 0, "lane": 4, "group": None, "term": 1},
    }


def test_products_by_type() -> None:
    found = {types: amx_product(types) for types in ((ps.u8, ps.i8), (ps.bf16, ps.bf16))}
    assert [form.name for form in found.values() if form] == ["tdpbusd", "tdpbf16ps"]
    assert amx_product((ps.bf16, ps.i8)) is None


def test_even_and_odd_terms_are_added_apart() -> None:
    """2**24 + 1 is no f32: which sums lose the 1 depends on the order."""
    big, one = np.float32(2**24), np.float32(1)
    values = [(big, one), (one, one), (-big, one), (one, one)]
    terms = [{"a": a, "b": b} for a, b in values]
    assert bf16_tile_dot(np.float32(0), terms) == 2
    assert bf16_tile_dot(np.float32(0), [terms[0], terms[2], terms[1], terms[3]]) == 1


def test_subnormal_numbers_are_zero() -> None:
    tiny, one = np.float32(1e-40), np.float32(1)
    assert bf16_tile_dot(tiny, [{"a": one, "b": one}, {"a": tiny, "b": one}]) == 1
    assert bf16_tile_dot(tiny, []) == 0
