"""From expanded loops to LLVM IR: control flow, vector statements, masks.

The function that comes out is ``i32 NAME(ptr array..., i64 parameter...)``: argument arrays in the
order of declaration, then the parameters (with parallel loops ``i32 NAME(ptr array..., ptr team,
i64 parameter..., i64 threads)``, see :mod:`polysched.codegen.regions`); it returns 0, or 1 if the
workspace could not be allocated (nothing has been written then). Arguments are ``noalias``: the
caller checks that written arrays overlap no other.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Any, Protocol

from llvmlite import ir

from polysched.codegen.accesses import Accesses, Lanes
from polysched.codegen.intrinsics import emit_prefetch, lane_numbers, mask_of
from polysched.codegen.memory import (
    Addresses,
    Storage,
    element_offset,
)
from polysched.codegen.transposition import Transposition, emit_transposition
from polysched.codegen.values import (
    INDEX,
    Value,
    element_type,
    emit_cast,
    emit_operator,
    splat,
    widened,
)
from polysched.errors import LoweringError
from polysched.ir.cache_lines import line_offsets
from polysched.ir.dtypes import DType, boolean, i64
from polysched.ir.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
)
from polysched.ir.kernel import Access, Array
from polysched.ir.linear import Intervals, interval, linear_form
from polysched.ir.traversal import loads
from polysched.ir.tree import LoopKind
from polysched.loops.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    Prefetch,
    variable_interval,
)


class RunsParallel(Protocol):
    """Emits parallel loops; without one they are emitted as loops of one thread."""

    def run(self, emitter: Emitter, node: For, lower: Any, upper: Any) -> None:
        """Emit a loop that runs at least once where the emitter stands."""


class Emitter:
    """Emits the body of one function; holds LLVM's builder and what is in scope.

    Args:
        builder: positioned in the function's first block after the storage is set up.
        parameters: LLVM values of the kernel's parameters.
        storages: places of the arrays in memory.
        registers: stack slots, which LLVM turns into SSA values, of the register arrays; of a
            register tile one for each of its vectors.
        known: intervals of the parameters.
        features: LLVM's names of the instruction sets that may be used by name.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        parameters: dict[str, Any],
        storages: dict[str, Storage],
        registers: dict[str, tuple[Array, Any]],
        known: Intervals,
        features: Set[str] = frozenset(),
    ) -> None:
        self.builder = builder
        self.parameters = parameters
        self.storages = storages
        self.registers = registers
        self.known: Intervals = known
        self.variables: dict[str, Any] = {}
        self.contract = True
        self.regions: RunsParallel | None = None
        self.addresses = Addresses(builder, self.index)
        self.features = features
        self.accesses = Accesses(builder, self.addresses, self.value, features)

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
            case Assign():
                self._assign(node, None)

    def _if(self, condition: Expression, then: LoopNode, otherwise: LoopNode | None) -> None:
        holds = self.value(condition, None).ir
        if otherwise is None:
            with self.builder.if_then(holds), self._scope():
                self.node(then)
            return
        with self.builder.if_else(holds) as (if_true, if_false):
            with if_true, self._scope():
                self.node(then)
            with if_false, self._scope():
                self.node(otherwise)

    @contextmanager
    def _scope(self) -> Iterator[None]:
        self.addresses.enter()
        try:
            yield
        finally:
            self.addresses.leave()

    def _for(self, node: For) -> None:
        extent = linear_form(node.upper, self.known).plus(linear_form(node.lower, self.known), -1)
        low, _ = interval(extent, self.known)
        lower, upper = self.index(node.lower), self.index(node.upper)
        run = self.counted
        if node.kind is LoopKind.PARALLEL and self.regions is not None:
            run = functools.partial(self.regions.run, self)
        if low is not None and low >= 1:
            run(node, lower, upper)
            return
        with self.builder.if_then(self.builder.icmp_signed("<", lower, upper)), self._scope():
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
        outer_known, outer = self.known, self.variables
        self.known = {
            **self.known,
            node.variable: variable_interval(node.lower, node.upper, self.known),
        }
        self.variables = {**outer, node.variable: variable}
        with self._scope():
            for request in node.prefetches:
                self._prefetch(request)
            self.node(node.body)
        self.known, self.variables = outer_known, outer
        following = builder.add(variable, INDEX(node.step), flags=("nsw",))
        variable.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, upper), body, after)
        builder.position_at_end(after)

    def _prefetch(self, request: Prefetch) -> None:
        """Ask for the cache lines of a box."""
        storage = self.storages[request.array]
        for place in line_offsets(request.extents, storage.array.dtype.bytes):
            at = tuple(one + offset for one, offset in zip(request.start, place, strict=True))
            offset = element_offset(storage, at, None)
            emit_prefetch(self.builder, self.addresses.address(storage, offset), request.level)

    # -- statements ------------------------------------------------------------------------------

    def _vector(self, node: For) -> None:
        """All lanes of one assignment at once; inactive lanes are masked."""
        condition, body = _mask_condition(node)
        lower, upper = (linear_form(end, self.known) for end in (node.lower, node.upper))
        extent = upper.plus(lower, -1)
        one_lane = extent.is_constant and extent.constant == 1 and condition is None
        if one_lane and not self._uses_registers(body):
            outer = self.variables
            self.variables = {**outer, node.variable: self.index(node.lower)}
            with self._scope():
                self._assign(body, None)
            self.variables = outer
            return
        low, _ = interval(extent, self.known)
        surely = low is not None and low >= 1
        whole = lower.is_constant and lower.constant <= 0 and upper.is_constant
        whole = whole and upper.constant >= node.lanes and node.step == 1
        if whole and condition is None:
            self._assign(body, Lanes(node.variable, node.lanes, None))
            return
        mask = None if whole else self._range_mask(node)
        if condition is not None:
            lanes = Lanes(node.variable, node.lanes, None)
            holds = widened(self.builder, self.value(condition, lanes), node.lanes)
            mask = holds if mask is None else self.builder.and_(mask, holds)
            surely = False
        if surely:
            self._assign(body, Lanes(node.variable, node.lanes, mask))
            return
        bits = self.builder.bitcast(mask, ir.IntType(node.lanes))
        some = self.builder.icmp_unsigned("!=", bits, ir.IntType(node.lanes)(0))
        with self.builder.if_then(some), self._scope():
            self._assign(body, Lanes(node.variable, node.lanes, mask))

    def _uses_registers(self, node: Assign) -> bool:
        read = (load for one in (node.value, *node.target.subscripts) for load in loads(one))
        arrays = {node.target.array, *(load.array for load in read)}
        return not arrays.isdisjoint(self.registers)

    def _range_mask(self, node: For) -> Any:
        """Lanes from lower to upper (excluded) in the loop's steps."""
        builder, count = self.builder, node.lanes
        numbers = lane_numbers(count)
        ends = [linear_form(end, self.known) for end in (node.lower, node.upper)]
        if all(end.is_constant for end in ends):
            active = range(ends[0].constant, ends[1].constant, node.step)
            return mask_of(lane in active for lane in range(count))
        lower = splat(builder, self.index(node.lower), count)
        upper = splat(builder, self.index(node.upper), count)
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

    def _assign(self, node: Assign, lanes: Lanes | None) -> None:
        if lanes is not None:
            lanes = self.accesses.with_neighbours(self.storages, node, lanes)
        value = self.value(node.value, lanes)
        self._store(node, value, lanes)
        self.addresses.pace.rest()

    # -- values ----------------------------------------------------------------------------------

    def index(self, expression: Expression) -> Any:
        """The i64 value of an integer expression over loop variables and parameters."""
        form = linear_form(expression, self.known)
        total: Any = None
        for atom, coefficient in form.terms:
            value = self.value(atom, None).ir
            if coefficient != 1:
                value = self.builder.mul(value, INDEX(coefficient))
            total = value if total is None else self.builder.add(total, value)
        if total is None:
            return INDEX(form.constant)
        return self.builder.add(total, INDEX(form.constant)) if form.constant else total

    def value(self, expression: Expression, lanes: Lanes | None) -> Value:
        """The value of an expression: a vector if it differs between lanes, else a scalar."""
        match expression:
            case Constant(value=value, type=dtype):
                dtype = dtype or (boolean if isinstance(value, bool) else i64)
                return Value(ir.Constant(element_type(dtype), value), dtype)
            case Index(name=name):
                if lanes is not None and name == lanes.variable:
                    return Value(lane_numbers(lanes.count), i64, lanes.count)
                return Value(self.variables[name], i64)
            case Parameter(name=name):
                return Value(self.parameters[name], i64)
            case Load():
                return self._load(expression, lanes)
            case Cast(operand=operand, type=dtype):
                inner = self._converted_from(operand, dtype, lanes)
                converted = emit_cast(self.builder, inner.ir, inner.dtype, dtype)
                return Value(converted, dtype, inner.lanes)
            case Operation(operator=operator, operands=operands):
                values = [self.value(operand, lanes) for operand in operands]
                width = next((v.lanes for v in values if v.lanes is not None), None)
                given = [widened(self.builder, v, width) for v in values]
                dtype = values[-1].dtype
                result = emit_operator(self.builder, operator, dtype, given, contract=self.contract)
                return Value(result, expression.dtype or dtype, width)
        raise LoweringError(f"expression {expression} has no machine code")

    def _converted_from(self, operand: Expression, target: DType, lanes: Lanes | None) -> Value:
        """The operand of a conversion; what is packed goes straight into lanes of the result."""
        if isinstance(operand, Load) and operand.array in self.storages:
            storage = self.storages[operand.array]
            if storage.array.is_packed:
                wanted = min(target.container.bits, 32) if target != boolean else 8
                container = max(operand.type.container.bits, wanted)
                return self.accesses.load_wide(storage, operand.subscripts, lanes, container)
        return self.value(operand, lanes)

    def _load(self, load: Load, lanes: Lanes | None) -> Value:
        if load.array in self.registers:
            slot = self._slot(load.array, load.subscripts)
            loaded = self.builder.load(slot, typ=slot.allocated_type)
            return Value(loaded, load.type, _lanes_of(slot))
        return self.accesses.load(self.storages[load.array], load.subscripts, lanes)

    def _slot(self, array: str, subscripts: tuple[Expression, ...]) -> Any:
        """The register of an array, of a register tile that which its first subscript names."""
        _, slot = self.registers[array]
        if not isinstance(slot, tuple):
            return slot
        vector = subscripts[0]
        assert isinstance(vector, Constant)
        return slot[int(vector.value)]

    def _transposition(self, node: Transposition) -> None:
        (_, rows), (_, columns) = self.registers[node.rows], self.registers[node.columns]
        vectors = [self.builder.load(slot, typ=slot.allocated_type) for slot in rows]
        transposed = emit_transposition(self.builder, vectors, node)
        for vector, slot in zip(transposed, columns, strict=True):
            self.builder.store(vector, slot)

    # -- stores ----------------------------------------------------------------------------------

    def _store(self, node: Assign, value: Value, lanes: Lanes | None) -> None:
        target = node.target
        if target.array in self.registers:
            self._store_register(target, value, lanes)
            return
        storage = self.storages[target.array]
        self.accesses.store(storage, target, value, lanes, node.statement)

    def _store_register(self, target: Access, value: Value, lanes: Lanes | None) -> None:
        slot = self._slot(target.array, target.subscripts)
        width = _lanes_of(slot)
        new = widened(self.builder, value, width)
        if lanes is not None and lanes.mask is not None and width is not None:
            new = self.builder.select(
                lanes.mask, new, self.builder.load(slot, typ=slot.allocated_type)
            )
        self.builder.store(new, slot)


def _mask_condition(node: For) -> tuple[Expression | None, Assign]:
    """The condition inside a vector loop, if any, and its assignment."""
    condition: Expression | None = None
    body: LoopNode = node.body
    while isinstance(body, If) and body.otherwise is None:
        condition = body.condition if condition is None else condition & body.condition
        body = body.then
    if not isinstance(body, Assign):
        raise LoweringError(f"vector loop '{node.loop}' holds more than one assignment")
    return condition, body


def _lanes_of(slot: Any) -> int | None:
    type_ = slot.allocated_type
    return type_.count if isinstance(type_, ir.VectorType) else None
