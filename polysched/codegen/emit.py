"""From expanded loops to LLVM IR: control flow, vector statements, masks.

The function that comes out is ``i32 NAME(ptr array..., i64 parameter...)``: argument arrays in the
order of declaration, then the parameters (with parallel loops ``i32 NAME(ptr array..., ptr team,
i64 parameter..., i64 threads)``, see :mod:`polysched.codegen.regions`); it returns 0, or 1 if the
workspace could not be allocated (nothing has been written then). Arguments are ``noalias``: the
caller checks that written arrays overlap no other.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Set
from typing import Any, Protocol

from llvmlite import ir

from polysched.codegen.accesses import Lanes
from polysched.codegen.evaluation import Evaluator, lanes_of
from polysched.codegen.instruction_calls import emit_call, lane_width
from polysched.codegen.intrinsics import active_lanes, emit_prefetch, lane_numbers, mask_of
from polysched.codegen.memory import element_offset
from polysched.codegen.transposition import emit_transposition
from polysched.codegen.values import INDEX, Value, splat, widened
from polysched.errors import LoweringError
from polysched.ir.core.cache_lines import line_offsets
from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression, Load
from polysched.ir.expr.linear import interval, linear_form, simplify
from polysched.loops.analysis.usage import accessed_arrays
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    InstructionCall,
    LoopNode,
    Prefetch,
    Transposition,
    variable_interval,
)


class RunsParallel(Protocol):
    """Emits parallel loops; without one they are emitted as loops of one thread."""

    def run(self, emitter: Emitter, node: For, lower: Any, upper: Any) -> None:
        """Emit a loop that runs at least once where the emitter stands."""


class Emitter:
    """Emits the body of one function.

    Args:
        values: at the function's first block, after the storage is set up.
        regions: what emits parallel loops; None if there is none.
        unmasked: the register arrays whose inactive lanes may hold anything.
    """

    def __init__(
        self,
        values: Evaluator,
        regions: RunsParallel | None = None,
        unmasked: Set[str] = frozenset(),
    ) -> None:
        self.values = values
        self.builder = values.builder
        self.regions = regions
        self.unmasked = unmasked

    # -- control flow ----------------------------------------------------------------------------

    def node(self, node: LoopNode) -> None:
        """Emit a node and all below."""
        match node:
            case Transposition():
                self._transposition(node)
            case Block(children=children):
                for child in children:
                    self.node(child)
            case Allocate(body=body):
                self.node(body)
            case If(condition=condition, then=then, otherwise=otherwise):
                self._if(condition, then, otherwise)
            case For(kind=LoopKind.VECTOR):
                self._vector(node)
            case For():
                self._for(node)
            case Assign() | InstructionCall():
                self._assign(node, None)

    def _if(self, condition: Expression, then: LoopNode, otherwise: LoopNode | None) -> None:
        holds = self.values.value(condition, None).ir
        if otherwise is None:
            with self.builder.if_then(holds), self.values.scope():
                self.node(then)
            return
        with self.builder.if_else(holds) as (if_true, if_false):
            with if_true, self.values.scope():
                self.node(then)
            with if_false, self.values.scope():
                self.node(otherwise)

    def _for(self, node: For) -> None:
        values, known = self.values, self.values.known
        extent = linear_form(node.upper, known).plus(linear_form(node.lower, known), -1)
        low, _ = interval(extent, known)
        lower, upper = values.index(node.lower), values.index(node.upper)
        run = self.counted
        if node.kind is LoopKind.PARALLEL and self.regions is not None:
            run = functools.partial(self.regions.run, self)
        if low is not None and low >= 1:
            run(node, lower, upper)
            return
        with self.builder.if_then(self.builder.icmp_signed("<", lower, upper)), values.scope():
            run(node, lower, upper)

    def counted(self, node: For, lower: Any, upper: Any) -> None:
        """A loop that runs at least once, tested at its end."""
        builder = self.builder
        before = builder.block
        body = builder.append_basic_block(f"{node.loop}.body")
        after = builder.append_basic_block(f"{node.loop}.end")
        builder.branch(body)
        builder.position_at_end(body)
        variable = builder.phi(INDEX, name=node.variable)
        variable.add_incoming(lower, before)
        reached = variable_interval(node.lower, node.upper, self.values.known)
        with self.values.inside(node.variable, variable, reached):
            for request in node.prefetches:
                self._prefetch(request)
            self.node(node.body)
        following = builder.add(variable, INDEX(node.step), flags=("nsw",))
        variable.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, upper), body, after)
        builder.position_at_end(after)

    def _prefetch(self, request: Prefetch) -> None:
        """Ask for the cache lines of a box."""
        storage = self.values.storages[request.array]
        for place in line_offsets(request.extents, storage.array.dtype.bytes):
            at = tuple(one + offset for one, offset in zip(request.start, place, strict=True))
            offset = element_offset(storage, at, None)
            address = self.values.addresses.address(storage, offset)
            emit_prefetch(self.builder, address, request.level)

    # -- statements ------------------------------------------------------------------------------

    def _vector(self, node: For) -> None:
        """All lanes of one assignment at once; inactive lanes are masked."""
        condition, body = _mask_condition(node)
        if condition is None and _is_whole(node):
            self._assign(body, Lanes(node.variable, node.lanes, None))
            return
        lower, upper = (linear_form(end, self.values.known) for end in (node.lower, node.upper))
        extent = upper.plus(lower, -1)
        one_lane = extent.is_constant and extent.constant == 1 and condition is None
        if one_lane and accessed_arrays(body).isdisjoint(self.values.registers):
            with self.values.inside(node.variable, self.values.index(node.lower)):
                self._assign(body, None)
            return
        low, _ = interval(extent, self.values.known)
        surely = low is not None and low >= 1
        whole = lower.is_constant and lower.constant <= 0 and upper.is_constant
        whole = whole and upper.constant >= node.lanes and node.step == 1
        if whole and condition is None:
            self._assign(body, Lanes(node.variable, node.lanes, None))
            return
        mask = None if whole else self._range_mask(node)
        if condition is not None:
            mask, surely = self._holding(node, condition, mask), False
        active = None if mask is None else active_lanes(mask)
        if active is not None:
            if not active:
                return
            surely = True
            mask = None if len(active) == node.lanes else mask
        if surely:
            self._assign(body, Lanes(node.variable, node.lanes, mask))
            return
        bits = self.builder.bitcast(mask, ir.IntType(node.lanes))
        some = self.builder.icmp_unsigned("!=", bits, ir.IntType(node.lanes)(0))
        with self.builder.if_then(some), self.values.scope():
            self._assign(body, Lanes(node.variable, node.lanes, mask))

    def _holding(self, node: For, condition: Expression, mask: Any | None) -> Any:
        """The lanes of a mask (None: all) for which a condition holds: a literal where these are.

        LLVM would find the literal too, and writes more than one lane of it (see ``Accesses``).
        """
        count, ranged = node.lanes, range(node.lanes) if mask is None else active_lanes(mask)
        literal = self._literally(node, condition, range(count) if ranged is None else ranged)
        if literal is not None and ranged is not None:
            return mask_of(lane in literal for lane in range(count))
        holds = widened(
            self.builder, self.values.value(condition, Lanes(node.variable, count, None)), count
        )
        return holds if mask is None else self.builder.and_(mask, holds)

    def _literally(self, node: For, condition: Expression, lanes: Iterable[int]) -> set[int] | None:
        """Those of some lanes for which a condition holds; None if that is no literal."""
        holding = set()
        for lane in lanes:
            known = {**self.values.known, node.variable: (lane, lane)}
            holds = simplify(condition, known)
            if not isinstance(holds, Constant):
                return None
            if holds.value:
                holding.add(lane)
        return holding

    def _range_mask(self, node: For) -> Any:
        """Lanes from lower to upper (excluded) in the loop's steps."""
        builder, count = self.builder, node.lanes
        numbers = lane_numbers(count)
        ends = [linear_form(end, self.values.known) for end in (node.lower, node.upper)]
        if all(end.is_constant for end in ends):
            active = range(ends[0].constant, ends[1].constant, node.step)
            return mask_of(lane in active for lane in range(count))
        lower = splat(builder, self.values.index(node.lower), count)
        upper = splat(builder, self.values.index(node.upper), count)
        mask = builder.icmp_signed("<", numbers, upper)
        if not (ends[0].is_constant and ends[0].constant <= 0):
            mask = builder.and_(mask, builder.icmp_signed(">=", numbers, lower))
        if node.step != 1:
            step = splat(builder, INDEX(node.step), count)
            distance = builder.sub(numbers, lower)
            on_step = builder.icmp_signed(
                "==", builder.srem(distance, step), splat(builder, INDEX(0), count)
            )
            mask = builder.and_(mask, on_step)
        return mask

    def _assign(self, node: Assign | InstructionCall, lanes: Lanes | None) -> None:
        values = self.values
        assign = node.meaning if isinstance(node, InstructionCall) else node
        if lanes is not None and isinstance(node, InstructionCall):
            value = self._instruction_call(node, lanes)
        else:
            if lanes is not None:
                lanes = values.accesses.with_neighbors(values.storages, assign, lanes)
            value = values.value(assign.value, lanes)
        self._store(assign, value, lanes)
        values.addresses.pace.rest()

    def _instruction_call(self, node: InstructionCall, lanes: Lanes) -> Value:
        """The value of the whole nest, by one instruction."""
        values, target, called = self.values, node.meaning.target, node.instruction
        operands: dict[str, tuple[Any, DType] | Constant] = {}
        for name, operand in node.operands:
            if isinstance(operand, Constant):
                operands[name] = operand
                continue
            storage, width = values.storages[operand.array], lane_width(called, name)
            terms = values.accesses.load_terms(storage, operand.subscripts, lanes, width)
            operands[name] = terms, storage.array.dtype
        before, dtype = None, called.kernel.arrays[called.statement.target.array].dtype
        if called.updates:
            read = values.value(Load(target.array, target.subscripts, dtype), lanes)
            before = widened(self.builder, read, lanes.count)
        result = emit_call(self.builder, called, before, operands)
        return Value(result, dtype, lanes.count)

    def _transposition(self, node: Transposition) -> None:
        registers, slots = self.values.registers, self.values.slots
        (_, rows), (_, columns) = registers[node.rows], registers[node.columns]
        vectors = [slots.load(slot) for slot in rows]
        transposed = emit_transposition(self.builder, vectors, node, self.values.features)
        for vector, slot in zip(transposed, columns, strict=True):
            slots.store(vector, slot)

    def _store(self, node: Assign, value: Value, lanes: Lanes | None) -> None:
        target = node.target
        if target.array in self.values.registers:
            self._store_register(target, value, lanes)
            return
        storage = self.values.storages[target.array]
        self.values.accesses.store(storage, target, value, lanes, node.statement)

    def _store_register(self, target: Access, value: Value, lanes: Lanes | None) -> None:
        slot = self.values.slot(target.array, target.subscripts)
        width = lanes_of(slot)
        new = widened(self.builder, value, width)
        mask = None if lanes is None or width is None else lanes.mask
        if mask is not None and target.array not in self.unmasked:
            new = self.builder.select(mask, new, self.values.slots.load(slot))
        self.values.slots.store(new, slot)


def _is_whole(node: For) -> bool:
    """Whether it stands in the loop's ends that every lane runs."""
    lower, upper = node.lower, node.upper
    if not isinstance(lower, Constant) or not isinstance(upper, Constant):
        return False
    return lower.value <= 0 and upper.value >= node.lanes and node.step == 1


def _mask_condition(node: For) -> tuple[Expression | None, Assign | InstructionCall]:
    """The condition inside a vector loop, if any, and its assignment."""
    condition: Expression | None = None
    body: LoopNode = node.body
    while isinstance(body, If) and body.otherwise is None:
        condition = body.condition if condition is None else condition & body.condition
        body = body.then
    if not isinstance(body, Assign | InstructionCall):
        raise LoweringError(f"vector loop '{node.loop}' holds more than one assignment")
    return condition, body
