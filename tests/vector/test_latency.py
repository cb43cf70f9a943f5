"""Sums of products in few accumulators: no FMA in the chain of additions."""

from __future__ import annotations

import dataclasses
import re

import pytest

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.llvm.emit.module import emit_module
from polysched.lower import lower
from polysched.machine.load import as_machine
from polysched.schedule.schedule import Schedule

ZEN = as_machine("zen5")


def sums(accumulators: int, *, lanes: int = 1, negated: bool = False) -> Schedule:
    """So many sums of products, in one loop."""
    build = KernelBuilder("sums")
    n = build.parameter("n", minimum=1)
    x = build.input("x", f32, (n, accumulators, lanes))
    s = build.inout("s", f32, (accumulators, lanes))
    with build.loops(k=n, c=accumulators, v=lanes) as (k, c, v), build.statement("S", order="any"):
        product = x[k, c, v] * x[k, c, v]
        s[c, v] = s[c, v] - product if negated else s[c, v] + product
    schedule = Schedule(build.kernel()).unroll("c")
    return schedule.vectorize("v", lanes) if lanes > 1 else schedule.unroll("v")


def additions(
    schedule: Schedule, latency: int = 4, *, reassociated: frozenset[str] = frozenset()
) -> set[str]:
    """The floating-point additions of the code, with their flags."""
    loops = dataclasses.replace(lower(schedule), reassociated=reassociated)
    text = emit_module(loops, dataclasses.replace(ZEN, fma_latency=latency))
    return set(re.findall(r"= (f(?:add|sub)(?: reassoc)?(?: contract)?) ", text))


@pytest.mark.parametrize("lanes", [1, 16])
def test_the_product_stays_outside_of_a_short_chain(lanes: int) -> None:
    assert additions(sums(1, lanes=lanes)) == {"fadd"}
    assert additions(sums(2, lanes=lanes)) == {"fadd"}
    assert additions(sums(1, lanes=lanes, negated=True)) == {"fsub"}


def test_llvm_has_more_chains_of_a_sum_that_it_may_reassociate() -> None:
    assert additions(sums(1), reassociated=frozenset({"S"})) == {"fadd reassoc contract"}


@pytest.mark.parametrize("lanes", [1, 16])
def test_many_chains_hide_the_latency(lanes: int) -> None:
    assert additions(sums(3, lanes=lanes)) == {"fadd contract"}
    assert additions(sums(3, lanes=lanes), latency=6) == {"fadd"}


def test_only_the_addition_to_the_accumulator_is_apart() -> None:
    build = KernelBuilder("lengths")
    n = build.parameter("n", minimum=1)
    x, s = build.input("x", f32, (n, 2)), build.inout("s", f32, ())
    with build.loops(k=n) as k, build.statement("S", order="any"):
        s[()] += x[k, 0] * x[k, 0] + x[k, 1] * x[k, 1]
    assert additions(Schedule(build.kernel())) == {"fadd", "fadd contract"}


def test_a_product_of_the_accumulator_is_in_the_chain_anyhow() -> None:
    build = KernelBuilder("horner")
    n = build.parameter("n", minimum=1)
    x, s = build.input("x", f32, (n,)), build.inout("s", f32, ())
    with build.loops(k=n) as k, build.statement("S"):
        s[()] = s[()] * 0.5 + x[k]
    assert additions(Schedule(build.kernel())) == {"fadd contract"}


def test_a_chain_that_begins_anew_in_each_iteration_is_none() -> None:
    build = KernelBuilder("rows")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", f32, (4, n)), build.inout("y", f32, (n,))
    with build.loops(i=n, k=4) as (i, k), build.statement("S", order="any"):
        y[i] += x[k, i] * x[k, i]
    schedule = Schedule(build.kernel()).promote("y", at="i").unroll("k")
    assert additions(schedule) == {"fadd contract"}


def test_sums_without_products_do_not_count() -> None:
    build = KernelBuilder("moments")
    n = build.parameter("n", minimum=1)
    x, squares = build.input("x", f32, (n, 3)), build.inout("squares", f32, ())
    totals = build.inout("totals", f32, (3,))
    with build.loops(k=n) as k:
        for column in range(3):
            with build.statement(f"S{column}", order="any"):
                totals[column] += x[k, column]
        with build.statement("Q", order="any"):
            squares[()] += x[k, 0] * x[k, 0]
    assert additions(Schedule(build.kernel())) == {"fadd", "fadd contract"}


@pytest.mark.parametrize("is_first", [True, False])
def test_the_product_of_a_carried_value_becomes_the_fma(is_first: bool) -> None:
    build = KernelBuilder("smooth")
    n = build.parameter("n", minimum=2)
    x, y = build.input("x", f32, (n,)), build.inout("y", f32, (n,))
    with build.loops(k=n - 1) as k, build.statement("S"):
        old, new = y[k] * 0.25, x[k] * 0.75
        y[k + 1] = old + new if is_first else new + old
    text = emit_module(lower(Schedule(build.kernel())), ZEN)
    products = re.findall(r"= fmul (contract )?float \S+, (?:float )?(\S+)", text)
    assert {factor[2:6]: bool(flag) for flag, factor in products} == {"3fd0": True, "3fe8": False}
