"""Emit the nodes of the vector IR as LLVM IR.

The emitted function is ``i32 NAME(ptr array..., i64 parameter...)``: argument arrays in the order
of declaration, then the parameters. With parallel loops it is ``i32 NAME(ptr array..., ptr team,
i64 parameter..., i64 threads)``, see :mod:`polysched.llvm.emit.regions`. It returns 0 on success.
It returns 1, and has written nothing, if the workspace cannot be allocated. Arguments are
``noalias``: the caller checks that a written array overlaps no other array.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from llvmlite import ir

from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.operators import BITWISE, PSEUDO_EXTREMA, Operator
from polysched.llvm.builder.intrinsics import emit_prefetch, fenced
from polysched.llvm.emit.evaluation import Evaluator, lanes_of
from polysched.llvm.emit.instruction_calls import TileUnit, emit_call
from polysched.llvm.values.expressions import INDEX, Value, widened
from polysched.llvm.values.masks import Mask, emit_mask
from polysched.llvm.values.transposition import emit_transposition
from polysched.vector import values as vector
from polysched.vector.ir import (
    Assign,
    Branch,
    Call,
    Keep,
    Loop,
    Node,
    Prefetch,
    Sequence,
    Store,
    Stream,
    TileCall,
    TileCompute,
    TileLoad,
    Tiles,
    TileStore,
    Transpose,
)
from polysched.vector.passes.scalar_chains import FIRST_LANE
from polysched.vector.passes.unmask import has_fixed_lanes

_SELECTIONS = PSEUDO_EXTREMA | {Operator.SELECT, Operator.NUMBER_MINIMUM, Operator.NUMBER_MAXIMUM}
"""Operators that are emitted as a ``select`` of one operand."""


class RunsParallel(Protocol):
    """Emitter of parallel loops; without an emitter, parallel loops run on one thread."""

    def run(self, emitter: Emitter, node: Loop, lower: ir.Value, upper: ir.Value) -> None:
        """Emit a loop that runs at least once at the builder's position."""


class Emitter:
    """Emit the body of one function.

    Args:
        values: the evaluator at the function's first block, after the storage setup.
        regions: the emitter of parallel loops whose iterations threads share; None inside such a
            loop.
    """

    def __init__(self, values: Evaluator, regions: RunsParallel | None = None) -> None:
        self.values = values
        self.builder = values.builder
        self.regions = regions
        self.tiles = TileUnit(values)
        self.loop_end: ir.Block | None = None

    # -- control flow ----------------------------------------------------------------------------

    def node(self, node: Node) -> None:
        """Emit a node and its children."""
        match node:
            case Assign() | Call():
                self._statement(node)
            case Sequence(nodes=nodes):
                for _, run in groupby(nodes, _shared_lanes):
                    self._sequence(list(run))
            case Loop():
                self._loop(node)
            case Branch():
                self._branch(node)
            case Transpose():
                self._transpose(node)
            case Tiles() | TileLoad() | TileStore() | TileCompute():
                self.tiles.emit(node, self.node)
            case TileCall():
                raise AssertionError("tile calls become loads, computation and stores")
            case Prefetch(address=address, level=level):
                storage = self.values.storages[address.array]
                pointer = self.values.addresses.address(storage, address)
                emit_prefetch(self.builder, pointer, level)

    def _sequence(self, nodes: list[Node]) -> None:
        """Emit nodes in order; a single branch skips statements with the same lanes."""
        lanes = _shared_lanes(nodes[0])
        if lanes is None:
            for node in nodes:
                self.node(node)
            return
        mask = emit_mask(self.builder, lanes, self.values.value)
        with self.builder.if_then(self._some(mask)), self.values.scope():
            for node in nodes:
                assert isinstance(node, Assign | Call)
                self._run(node, mask)

    def _branch(self, node: Branch) -> None:
        holds = self.values.value(node.condition, None).ir
        if node.otherwise is None:
            with self.builder.if_then(holds), self.values.scope():
                self._then(node)
            return
        with self.builder.if_else(holds) as (if_true, if_false):
            with if_true, self.values.scope():
                self._then(node)
            with if_false, self.values.scope():
                self.node(node.otherwise)

    def _then(self, node: Branch) -> None:
        self.node(node.then)
        if node.leaves:
            assert self.loop_end is not None, "a branch that leaves a loop is inside one"
            self.builder.branch(self.loop_end)

    def _loop(self, node: Loop) -> None:
        lower, upper = self.values.index(node.lower), self.values.index(node.upper)
        run = self.counted
        if node.region is not None and self.regions is not None:
            run = functools.partial(self.regions.run, self)
        if node.runs:
            run(node, lower, upper)
            return
        is_entered = self.builder.icmp_signed("<", lower, upper)
        with self.builder.if_then(is_entered), self.values.scope():
            if node.until is None:
                run(node, lower, upper)
                return
            is_left = self.values.value(node.until, None).ir
            with self.builder.if_then(self.builder.not_(is_left)), self.values.scope():
                run(node, lower, upper)

    def counted(self, node: Loop, lower: ir.Value, upper: ir.Value) -> None:
        """Emit a loop that runs at least once, with the exit test at its end."""
        builder = self.builder
        before = builder.block
        body = builder.append_basic_block(f"{node.name}.body")
        after = builder.append_basic_block(f"{node.name}.end")
        builder.branch(body)
        builder.position_at_end(body)
        variable = builder.phi(INDEX, name=node.variable)
        variable.add_incoming(lower, before)
        around, self.loop_end = self.loop_end, after
        with self.values.inside(node.variable, variable):
            self.node(node.body)
        self.loop_end = around
        if node.until is not None:
            continued = builder.append_basic_block(f"{node.name}.continued")
            with self.values.scope():
                builder.cbranch(self.values.value(node.until, None).ir, after, continued)
            builder.position_at_end(continued)
        following = builder.add(variable, INDEX(node.step), flags=("nsw",))
        variable.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, upper), body, after)
        builder.position_at_end(after)

    # -- statements ------------------------------------------------------------------------------

    def _statement(self, node: Assign | Call) -> None:
        """Emit a statement; a branch skips a vector statement if no lane is active."""
        if node.lanes is None:
            self._run(node, None)
            return
        lanes = emit_mask(self.builder, node.lanes, self.values.value)
        if node.lanes.some:
            self._run(node, lanes)
            return
        with self.builder.if_then(self._some(lanes)), self.values.scope():
            self._run(node, lanes)

    def _some(self, lanes: Mask) -> ir.Value:
        """Whether at least one lane is active."""
        if lanes.first is not None:
            return self.builder.icmp_signed(">", lanes.first, lanes.first.type(0))
        bits = self.builder.bitcast(lanes.bits, ir.IntType(lanes.count))
        return self.builder.icmp_unsigned("!=", bits, ir.IntType(lanes.count)(0))

    def _run(self, node: Assign | Call, lanes: Mask | None) -> None:
        values = self.values
        if isinstance(node, Assign):
            value = values.value(node.value, lanes)
        else:
            assert lanes is not None
            value = self._call(node, lanes)
        match node.target:
            case Keep():
                self._keep(node.target, value, lanes)
            case Store(access=access):
                values.accesses.store(access, self._stored_whole(node, value), lanes)
            case Stream(access=access):
                values.accesses.store(access, value, lanes, streamed=True)
        values.addresses.pace.rest()

    def _stored_whole(self, node: Assign | Call, value: Value) -> Value:
        """Keep LLVM from storing only the lanes in which a select changes the stored element.

        LLVM 22 combines ``x[i] = c ? value : x[i]`` to a masked store (``foldToMaskedStore``). With
        AVX2 that is ``vmaskmovps``: on Zen 4 shortest paths ran at a fifth of the speed.
        """
        if value.lanes is None or not isinstance(node, Assign):
            return value
        if not isinstance(node.value, vector.Apply):
            return value
        is_binary = node.value.operator in BITWISE | {Operator.ADD, Operator.SUBTRACT}
        if is_binary and node.lanes is not None and node.lanes.active == FIRST_LANE:
            # LLVM would compute the stored lane as a scalar, and move it back for the next use.
            return replace(value, ir=fenced(self.builder, value.ir))
        if node.value.operator in _SELECTIONS:
            return replace(value, ir=self.builder.freeze(value.ir))
        return value

    def _call(self, node: Call, lanes: Mask) -> Value:
        """Emit a machine instruction and return its results."""
        values, called = self.values, node.instruction
        operands: dict[str, tuple[ir.Value, DType] | Constant] = {}
        for name, operand in node.operands:
            if isinstance(operand, Constant):
                operands[name] = operand
                continue
            terms = values.accesses.load_terms(operand, lanes, called.lane_width(name))
            operands[name] = terms, operand.dtype
        before = None
        if node.before is not None:
            before = widened(self.builder, values.value(node.before, lanes), lanes.count)
        result = emit_call(self.builder, called, before, operands)
        dtype = called.kernel.arrays[called.statement.target.array].dtype
        return Value(result, dtype, lanes.count)

    def _transpose(self, node: Transpose) -> None:
        values, slots = self.values, self.values.slots
        vectors = [slots.load(slot) for slot in values.registers[node.rows]]
        transposed = emit_transposition(self.builder, vectors, node, values.features)
        for moved, slot in zip(transposed, values.registers[node.columns], strict=True):
            slots.store(moved, slot)

    def _keep(self, target: Keep, value: Value, lanes: Mask | None) -> None:
        slot = self.values.slot(target.register)
        width = lanes_of(slot)
        new = widened(self.builder, value, width)
        if target.masked and lanes is not None and lanes.bits is not None and width is not None:
            new = self.builder.select(lanes.bits, new, self.values.slots.load(slot))
        self.values.slots.store(new, slot)


def _shared_lanes(node: Node) -> vector.Lanes | None:
    """The lanes of a statement, if its neighbors may share the test for an active lane."""
    lanes = node.lanes if isinstance(node, Assign | Call) else None
    if lanes is None or lanes.some or not has_fixed_lanes(lanes):
        return None
    return lanes
