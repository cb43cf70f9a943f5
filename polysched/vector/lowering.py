"""Lower expressions to values of the vector IR, and classify each load and store."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from polysched.errors import LoweringError
from polysched.ir.core.data_dependent import is_optional
from polysched.ir.core.guards import guarded_names, reads_guarded
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.packing import Rows
from polysched.ir.expr.dtypes import DType, NumberKind, boolean
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
)
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import UNBOUNDED, Intervals, LinearForm
from polysched.ir.expr.operators import Operator
from polysched.loops.ir.nodes import LoopProgram
from polysched.machine.description import Machine
from polysched.vector.classify import (
    CACHE_LINE,
    Offset,
    element_offset,
    has_all_lanes,
    lane_distances,
    literal_strides,
    stride_steps,
)
from polysched.vector.frames import kernel_frame, literal_elements
from polysched.vector.ir import Layout
from polysched.vector.latency import contraction
from polysched.vector.values import (
    Access,
    Address,
    Apply,
    Convert,
    Gather,
    Lane,
    Lanes,
    Movement,
    Offsets,
    Register,
    RuntimeStride,
    Sum,
    Uniform,
    Unit,
    Unpack,
    Value,
)
from polysched.vector.values import Load as VectorLoad

LanesOrNone: TypeAlias = Lanes | None
"""The lanes of a statement; None for a scalar."""


class Lowering:
    """Lower the expressions of a program.

    Attributes:
        strides: the literal strides of the arrays in memory.
        layouts: the layouts of the same arrays.
        known: intervals of the parameters and variables in scope.
        frame: the frame of the function in scope.
        lane: the variable of the vector loop in scope.
        guard: the condition under which the current operand is evaluated; None if it always is.
    """

    def __init__(self, program: LoopProgram, machine: Machine) -> None:
        self.arrays = program.arrays
        self.registers = frozenset(program.registers)
        self.guarded = guarded_names(program.arrays)
        self.known: Intervals = program.ranges
        self.lane: str | None = None
        self.guard: Value | None = None
        self.fp_contract = contraction(program, self.registers, machine.fma_latency)
        in_memory = [name for name in program.arrays if name not in self.registers]
        self.strides = {
            name: literal_strides(program.arrays[name], program.ranges) for name in in_memory
        }
        self.layouts = {name: self._layout(program.arrays[name]) for name in in_memory}
        self.frame = kernel_frame(program, self.layouts)

    def _layout(self, array: Array) -> Layout:
        strides = array.strides
        return Layout(
            tuple(map(self.index, array.stored_shape)),
            None if strides is None else tuple(map(self.index, strides)),
        )

    # -- values ----------------------------------------------------------------------------------

    def index(self, expression: Expression) -> Sum:
        """Lower an integer expression over loop variables and parameters."""
        return self._sum(linear_form(expression, self.known))

    def _sum(self, form: LinearForm) -> Sum:
        terms = [(self.value(atom, None), coefficient) for atom, coefficient in form.terms]
        return Sum(tuple(terms), form.constant)

    def value(self, expression: Expression, lanes: LanesOrNone) -> Value:
        """Lower an expression in the lanes of a statement."""
        match expression:
            case Constant():
                return expression
            case Index(name=name):
                return Lane() if lanes is not None and name == self.lane else expression
            case Parameter():
                return expression
            case Load(array=array) if array in self.registers:
                return self.register(array, expression.subscripts, expression.type)
            case Load(array=array, subscripts=subscripts):
                dtype = self.arrays[array].dtype
                access = self.access(array, subscripts, lanes)
                if self._is_limited(array, subscripts):
                    if lanes is not None and access.movement is Uniform.BROADCAST:
                        access = self.gather(array, subscripts, lanes)
                    return VectorLoad(access, dtype, self.guard)
                if not self.arrays[array].is_packed:
                    return VectorLoad(access, dtype)
                return Convert(Unpack(access, _lane_type(dtype.container.bits)), dtype)
            case Cast(operand=operand, type=dtype):
                return Convert(self._converted(operand, dtype, lanes), dtype)
            case Operation():
                return self._operation(expression, lanes)
        raise LoweringError(f"expression {expression} has no machine code")

    def _operation(self, expression: Operation, lanes: LanesOrNone) -> Value:
        if expression.operator is Operator.SELECT and reads_guarded(expression, self.guarded):
            return self._selection(expression, lanes)
        separate = self.fp_contract.separate_product(expression)
        values = []
        for number, operand in enumerate(expression.operands):
            value = self.value(operand, lanes)
            if number == separate and isinstance(value, Apply):
                value = replace(value, contract=False)
            values.append(value)
        contract = self.fp_contract.joins(expression)
        return Apply(expression.operator, tuple(values), expression.dtype, contract)

    def _is_limited(self, array: str, subscripts: tuple[Expression, ...]) -> bool:
        """Whether an element may only exist where the current operand is evaluated."""
        is_conditional = array in self.guarded and self.guard is not None
        return is_conditional and not is_optional(subscripts)

    def _selection(self, expression: Operation, lanes: LanesOrNone) -> Value:
        """Lower a selection; only the lanes that choose a side load its guarded arrays."""
        chosen, *sides = expression.operands
        outer, holds = self.guard, self.value(chosen, lanes)
        values = [holds]
        for side, runs in zip(sides, (holds, _applied(Operator.NOT, holds)), strict=True):
            self.guard = runs if outer is None else _applied(Operator.AND, outer, runs)
            values.append(self.value(side, lanes))
        self.guard = outer
        return Apply(expression.operator, tuple(values), expression.dtype, False)

    def _converted(self, operand: Expression, target: DType, lanes: LanesOrNone) -> Value:
        """Lower the operand of a conversion; unpack packed elements to the width of the result."""
        if not isinstance(operand, Load) or not self.arrays[operand.array].is_packed:
            return self.value(operand, lanes)
        target_bits = min(target.container.bits, 32) if target != boolean else 8
        bits = max(operand.type.container.bits, target_bits)
        access = self.access(operand.array, operand.subscripts, lanes)
        return Unpack(access, _lane_type(bits))

    def register(self, name: str, subscripts: tuple[Expression, ...], dtype: DType) -> Register:
        """The vector of a register array."""
        shape, number = self.arrays[name].shape, 0
        if len(shape) == 2:
            assert isinstance(subscripts[0], Constant)
            number = int(subscripts[0].value)
        return Register(name, number, dtype, bool(shape))

    # -- accesses --------------------------------------------------------------------------------

    def access(self, name: str, subscripts: tuple[Expression, ...], lanes: LanesOrNone) -> Access:
        """The access of a statement to an array in memory."""
        array, lane = self.arrays[name], None if lanes is None else self.lane
        offset = element_offset(self.strides[name], subscripts, lane)
        if is_optional(subscripts):
            return self._optional(array, subscripts, lanes, offset)
        if array.is_packed:
            return self._packed(array, offset, subscripts, lanes)
        size = array.dtype.bytes
        if lanes is None or lane is None or offset.lane == 0:
            return Access(self.address(name, offset), Uniform.BROADCAST, size)
        if offset.lane in (1, -1):
            is_whole = array.role is Role.TEMPORARY and has_all_lanes(
                array.stored_shape, subscripts, lane, lanes.count, self.known
            )
            movement = Uniform.CONTIGUOUS
            if offset.lane == -1:
                offset = replace(offset, literal=offset.literal.plus(1 - lanes.count))
                movement = Uniform.REVERSED
            access = self.whole(array, offset, movement, lanes.count)
            return replace(access, is_whole=is_whole)
        lane_offsets = lane_distances(self.strides[name], subscripts, offset, lane, lanes.count)
        if lane_offsets is None:
            steps = stride_steps(self.strides[name], subscripts, offset, lane)
            if steps is None:
                return self.gather(name, subscripts, lanes)
            return Access(self.address(name, offset), RuntimeStride(*steps), size)
        least, distances = lane_offsets
        return Access(self.address(name, least), Offsets(distances), size)

    def _optional(
        self, array: Array, subscripts: tuple[Expression, ...], lanes: LanesOrNone, offset: Offset
    ) -> Access:
        """The access of a statement to elements that may not exist."""
        if array.is_packed:
            raise LoweringError(f"packed array '{array.name}' has an optional subscript")
        if lanes is None or self.lane is None or offset.lane == 0:
            access = Access(self.address(array.name, offset), Uniform.BROADCAST, array.dtype.bytes)
        else:
            access = self.gather(array.name, subscripts, lanes)
        return replace(access, address=replace(access.address, is_optional=True))

    def _packed(
        self, array: Array, offset: Offset, subscripts: tuple[Expression, ...], lanes: LanesOrNone
    ) -> Access:
        """The access of a statement to a packed array."""
        address, bits = self._packed_address(array, offset), array.dtype.bits
        if lanes is None or offset.lane == 0:
            return Access(address, Uniform.BROADCAST, 1)
        if offset.lane == bits and address.unit is Unit.BYTE and address.phase % bits == 0:
            return Access(address, Uniform.CONTIGUOUS, 1)
        return self.gather(array.name, subscripts, lanes)

    def whole(self, array: Array, offset: Offset, movement: Movement, elements: int) -> Access:
        """Build an access to consecutive elements."""
        base = CACHE_LINE if array.role is Role.TEMPORARY else array.dtype.bytes
        alignment = offset.alignment(base, array.dtype.bytes)
        is_private = (
            array.name in self.frame.stack
            and not offset.scaled
            and offset.literal.is_constant
            and 0
            <= offset.literal.constant
            <= (literal_elements(array, self.layouts[array.name]) or 0) - elements
        )
        return Access(self.address(array.name, offset), movement, alignment, is_private)

    def gather(self, name: str, subscripts: tuple[Expression, ...], lanes: LanesOrNone) -> Access:
        """Build a gather: each lane computes its subscripts."""
        lane_subscripts = tuple([self.value(subscript, lanes) for subscript in subscripts])
        start = Address(name, (), 0)
        return Access(start, Gather(lane_subscripts), self.arrays[name].dtype.bytes)

    def _packed_address(self, array: Array, offset: Offset) -> Address:
        """The address in bytes if its bit position in a byte is literal, else in bits."""
        address = self.address(array.name, offset)
        in_bytes = not any(coefficient % 8 for _, coefficient in address.terms)
        if not in_bytes or (offset.scaled and array.rows is not Rows.PADDED):
            return replace(address, unit=Unit.BIT)
        terms = tuple([(value, coefficient // 8) for value, coefficient in address.terms])
        whole, phase = divmod(address.constant, 8)
        return replace(address, terms=terms, constant=whole, unit=Unit.BYTE, phase=phase)

    def address(self, name: str, offset: Offset) -> Address:
        """The address of lane 0."""
        terms = tuple([(self._atom(atom), factor) for atom, factor in offset.literal.terms])
        scaled = tuple([(dimension, self._sum(form)) for dimension, form in offset.scaled])
        depends = offset.is_data_dependent
        return Address(name, terms, offset.literal.constant, scaled, depends)

    def _atom(self, atom: Expression) -> Value:
        """A term of an address, simplified."""
        if isinstance(atom, Index | Parameter):
            low, high = self.known.get(atom.name, UNBOUNDED)
            if low is None or low != high:
                return atom
        form = self.index(atom)
        is_atom = form.constant == 0 and [factor for _, factor in form.terms] == [1]
        return form.terms[0][0] if is_atom else form


def _applied(operator: Operator, *operands: Value) -> Value:
    return Apply(operator, operands, boolean, False)


def _lane_type(bits: int) -> DType:
    return DType(NumberKind.SIGNED, bits)
