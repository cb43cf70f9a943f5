"""Masks, movements and addresses of the statements that vector loops become."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.packing import Rows
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.expr.expressions import Constant, Index, Load, Operand, Parameter
from polysched.loops.ir.nodes import Allocate, Block, For, If
from polysched.vector.ir import Loop, Sequence, Store, Stream, walk
from polysched.vector.passes.vectorize import vectorize
from polysched.vector.values import (
    Access,
    Active,
    All,
    Convert,
    Gather,
    Lanes,
    Offsets,
    Only,
    Predicate,
    Range,
    Uniform,
    Unit,
    Unpack,
)
from polysched.vector.values import Load as VectorLoad
from tests.loops.programs import array, assign, load, loop, program
from tests.vector.programs import AVX512, lanes, only_assign, v, vectorized, x

i, m = Index("i"), Parameter("m")
COPY = assign("y", (v,), x(v))
AT_LEAST_1 = "[m] -> { : 1 <= m <= 8 }"


@pytest.mark.parametrize(
    ("node", "active"),
    [
        (lanes(0, 8, COPY), All()),
        (lanes(-1, 9, COPY), All()),
        (lanes(2, 8, COPY, step=3), Only((2, 5))),
        (lanes(0, 8, If(v % 3 < 1, COPY)), Only((0, 3, 6))),
        (lanes(0, 8, If(v < 9, COPY)), All()),
        (lanes(0, 3, If(v < 9, COPY)), Only((0, 1, 2))),
    ],
)
def test_literal_lanes(node: For, active: Active) -> None:
    assert only_assign(vectorized(node)).lanes == Lanes(8, active)


@pytest.mark.parametrize("node", [lanes(3, 3, COPY), lanes(0, 8, If(v > 8, COPY))])
def test_no_statement_is_left_without_lanes(node: For) -> None:
    assert vectorized(node).body == Sequence(())


def test_lanes_of_run_time() -> None:
    found = only_assign(vectorized(lanes(0, m, COPY), context=AT_LEAST_1)).lanes
    assert found is not None
    assert isinstance(found.active, Range)
    assert (found.active.lower, found.active.step, found.some) == (None, 1, True)
    perhaps = only_assign(vectorized(lanes(m, 5, COPY), context=AT_LEAST_1)).lanes
    assert perhaps is not None
    assert isinstance(perhaps.active, Range)
    assert perhaps.active.lower is not None
    assert not perhaps.some


def test_a_condition_of_run_time() -> None:
    found = only_assign(vectorized(lanes(0, 3, If(v < m, COPY)), context=AT_LEAST_1)).lanes
    assert found is not None
    assert isinstance(found.active, Predicate)
    assert found.active.within == Only((0, 1, 2))
    assert not found.some


@pytest.mark.parametrize(("lower", "upper"), [(5, 6), (m, m + 1)])
def test_one_lane_is_a_scalar_statement(lower: Operand, upper: Operand) -> None:
    found = only_assign(vectorized(lanes(lower, upper, COPY), context=AT_LEAST_1))
    assert found.lanes is None
    assert isinstance(found.value, VectorLoad)
    assert found.value.access.movement is Uniform.BROADCAST


def loaded(*subscripts: Operand) -> Access:
    value = only_assign(vectorized(lanes(0, 8, assign("y", (v,), x(*subscripts))))).value
    assert isinstance(value, VectorLoad)
    return value.access


def test_movements() -> None:
    assert loaded(3).movement is Uniform.BROADCAST
    assert loaded(v + 4).movement is Uniform.CONTIGUOUS
    assert loaded(20 - v).movement is Uniform.REVERSED
    assert loaded(20 - v).address.constant == 13
    assert loaded(20 - 2 * v).movement == Offsets((14, 12, 10, 8, 6, 4, 2, 0))
    assert loaded(20 - 2 * v).address.constant == 6
    assert loaded(v // 4).movement == Offsets((0, 0, 0, 0, 1, 1, 1, 1))
    assert isinstance(loaded(load("x", v)).movement, Gather)


def test_stride_of_offsets() -> None:
    assert Offsets((0, 3, 6)).stride == 3
    assert Offsets((0, 0, 1)).stride is None


def test_known_alignment() -> None:
    assert loaded(v + 4).alignment == 4
    t = array("t", (64,), Role.TEMPORARY)
    line = array("x", (64,), Role.INOUT)
    copy = lanes(0, 8, assign("x", (v,), load("t", v + 4)))
    value = only_assign(vectorize(program([line, t], copy, context="{ : }"), AVX512)).value
    assert isinstance(value, VectorLoad)
    assert (value.access.alignment, value.access.is_private) == (16, True)


def test_a_temporary_is_private_only_outside_of_threads() -> None:
    """Threads see the array of the kernel's function, and each has its own of the loop's."""
    arrays = [
        array("x", (8, 8), Role.INOUT),
        array("t", (8,), Role.TEMPORARY),
        array("s", (8,), Role.TEMPORARY),
    ]
    copies = Block(
        (
            lanes(0, m, assign("s", (v,), load("t", v))),
            lanes(0, m, assign("x", (i, v), load("s", v))),
        )
    )
    parallel = replace(loop("i", 0, 8, Allocate("s", copies)), kind=LoopKind.PARALLEL)
    fill = lanes(0, m, assign("t", (v,), load("x", 0, v)))
    made = vectorize(program(arrays, fill, parallel, context=AT_LEAST_1), AVX512)
    (region,) = (node for node in walk(made.body) if isinstance(node, Loop))
    assert region.region is not None
    assert (region.region.outside, region.region.stack) == (("x", "t"), ("s",))
    assert made.frame.stack == ("t",)
    accesses = {}
    for node in walk(made.body):
        if hasattr(node, "target") and isinstance(node.target, Store):
            accesses[node.target.access.address.array] = node.target.access
            if isinstance(node.value, VectorLoad):
                accesses["from " + node.value.access.address.array] = node.value.access
    private = {name: access.is_private for name, access in accesses.items()}
    assert private == {
        "t": True,
        "s": True,
        "x": False,
        "from x": False,
        "from t": False,
        "from s": True,
    }


def test_packed_addresses() -> None:
    def unpacked(rows: Rows, *subscripts: Operand) -> Access:
        extents = (Constant(5), Constant(16))
        packed = Array("w", as_dtype("i4"), extents, Role.INPUT, ("a", "b"), rows=rows)
        arrays = [packed, array("y", (5, 16), Role.OUTPUT, as_dtype("i4"))]
        copy = lanes(0, 8, assign("y", (0, v), load("w", *subscripts, dtype=as_dtype("i4"))))
        made = vectorize(program(arrays, loop("i", 0, 5, copy), context="{ : }"), AVX512)
        value = only_assign(made).value
        assert isinstance(value, Convert)
        assert isinstance(value.operand, Unpack)
        return value.operand.access

    row = unpacked(Rows.PADDED, i, v + 3)
    assert row.movement is Uniform.CONTIGUOUS
    assert (row.address.unit, row.address.phase) == (Unit.BYTE, 4)
    assert (row.address.terms, row.address.constant) == (((i, 8),), 1)
    assert isinstance(unpacked(Rows.PADDED, i, v + i).movement, Gather)
    single = unpacked(Rows.PADDED, 0, 3 * i)
    assert (single.movement, single.address.unit) == (Uniform.BROADCAST, Unit.BIT)


def test_streaming_stores_write_whole_vectors() -> None:
    y = replace(array("y", (64,), Role.OUTPUT), streamed=True)
    made = program([array("x", (64,), Role.INPUT), y], lanes(0, 8, assign("y", (v,), load("x", v))))
    assert isinstance(only_assign(vectorize(made, AVX512)).target, Stream)
    part = replace(made, body=lanes(0, 5, assign("y", (v,), load("x", v))))
    assert isinstance(only_assign(vectorize(part, AVX512)).target, Store)


def test_all_lanes_into_one_element() -> None:
    with pytest.raises(LoweringError, match=r"statement 'S': all lanes .* 'v' write the one elem"):
        vectorized(lanes(0, 8, assign("y", (Constant(3),), x(v))))


def test_the_one_active_lane_scatters() -> None:
    """Which lane writes the element the mask decides."""
    shared = If(v >= m, If(v <= m, assign("y", (Constant(3),), x(v))))
    target = only_assign(vectorized(lanes(0, 8, shared), context=AT_LEAST_1)).target
    assert isinstance(target, Store)
    assert isinstance(target.access.movement, Gather)


def test_two_assignments_in_a_vector_loop() -> None:
    with pytest.raises(LoweringError, match="vector loop 'v' holds more than one assignment"):
        vectorized(lanes(0, 8, Block((COPY, COPY))))


def test_an_index_of_an_index_array() -> None:
    access = loaded(Load("x", (v,), as_dtype("i32")) + 1)
    assert isinstance(access.movement, Gather)
    assert access.address.terms == ()
