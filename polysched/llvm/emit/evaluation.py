"""Emit the values of the vector IR at the position of the builder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import TypeAlias

from llvmlite import ir

from polysched.ir.expr.dtypes import DType, boolean, i64
from polysched.ir.expr.expressions import Constant, Index, Parameter
from polysched.llvm.builder.intrinsics import free, lane_numbers, shuffled, vector_type
from polysched.llvm.emit.accesses import Accesses
from polysched.llvm.memory.arrays import Addresses, Storage
from polysched.llvm.memory.register_slots import RegisterSlots
from polysched.llvm.values.conversions import emit_cast, emit_constant
from polysched.llvm.values.expressions import INDEX, Value, emit_operator, widened
from polysched.llvm.values.masks import Mask
from polysched.vector import values as vector

Slots: TypeAlias = tuple[ir.Value, ...]
"""The stack slots of a register array, one for each vector; LLVM promotes them to SSA values."""


class Evaluator:
    """Emit values; holds LLVM's builder and the names in scope.

    Args:
        features: LLVM's names of the instruction sets that explicit intrinsics may use.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        parameters: Mapping[str, ir.Value],
        storages: Mapping[str, Storage],
        registers: Mapping[str, Slots],
        *,
        variables: Mapping[str, ir.Value] | None = None,
        features: Set[str] = frozenset(),
    ) -> None:
        self.builder = builder
        self.parameters = parameters
        self.storages = storages
        self.registers = registers
        self.slots = RegisterSlots(builder)
        self.variables = variables or {}
        self.features = features
        self.addresses = Addresses(builder, self.index)
        self.accesses = Accesses(builder, self.addresses, storages, self.value, features)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Scope of conditional code, whose values must not be reused after it."""
        self.addresses.enter()
        try:
            yield
        finally:
            self.addresses.leave()

    @contextmanager
    def inside(self, variable: str, value: ir.Value) -> Iterator[None]:
        """The scope of a loop's body, in which a variable has a value."""
        variables = self.variables
        self.variables = {**variables, variable: value}
        try:
            with self.scope():
                yield
        finally:
            self.variables = variables

    def index(self, value: vector.Value) -> ir.Value:
        """Emit an integer as an i64."""
        return self.value(value, None).ir

    def value(self, value: vector.Value, lanes: Mask | None) -> Value:
        """Emit a value for the lanes of a statement: a vector if the lanes differ."""
        match value:
            case vector.Register(dtype=dtype):
                slot = self.slot(value)
                return Value(self.slots.load(slot), dtype, lanes_of(slot))
            case vector.Load(access=access, dtype=dtype, where=where):
                if where is None:
                    return self.accesses.load(access, dtype, lanes)
                return self.accesses.load_where(access, dtype, self.value(where, lanes), lanes)
            case vector.Apply(operator=operator, operands=operands):
                values = [self.value(operand, lanes) for operand in operands]
                width = next((v.lanes for v in values if v.lanes is not None), None)
                given = [widened(self.builder, v, width) for v in values]
                dtype = values[-1].dtype
                result = emit_operator(
                    *(self.builder, operator, dtype, given),
                    fp_contract=value.contract,
                    reassociates=value.reassociates,
                    features=self.features,
                )
                return Value(result, value.dtype or dtype, width)
            case vector.Convert(operand=operand, dtype=dtype):
                inner = self._operand(operand, dtype, lanes)
                converted = emit_cast(self.builder, inner.ir, inner.dtype, dtype, self.features)
                return Value(converted, dtype, inner.lanes)
            case vector.Unpack(access=access, dtype=dtype):
                return self.accesses.unpack(access, dtype, lanes)
            case vector.First() | vector.Shuffle():
                return self._shuffled(value, lanes)
            case vector.Lane():
                assert lanes is not None
                return Value(lane_numbers(lanes.count), i64, lanes.count)
        return self._scalar(value)

    def _operand(self, operand: vector.Value, dtype: DType, lanes: Mask | None) -> Value:
        """The operand of a conversion to a type; loaded as wider integers where memory has them."""
        if isinstance(operand, vector.Load) and operand.where is None and lanes is not None:
            wide = self.accesses.load_widened(operand, dtype, lanes)
            if wide is not None:
                return wide
        return self.value(operand, lanes)

    def _scalar(self, value: Constant | Index | Parameter | vector.Sum) -> Value:
        match value:
            case Constant(value=number, type=constant_type):
                dtype = constant_type or (boolean if isinstance(number, bool) else i64)
                return Value(emit_constant(number, dtype), dtype)
            case Index(name=name):
                return Value(self.variables[name], i64)
            case Parameter(name=name):
                return Value(self.parameters[name], i64)
            case vector.Sum():
                return Value(self._sum(value), i64)

    def _shuffled(self, value: vector.First | vector.Shuffle, lanes: Mask | None) -> Value:
        if isinstance(value, vector.First):
            assert lanes is not None
            scalar = self.value(value.element, None)
            undefined = free(vector_type(scalar.ir.type, lanes.count))
            only = self.builder.insert_element(undefined, scalar.ir, ir.IntType(32)(0))
            return Value(only, scalar.dtype, lanes.count)
        left, right = self.value(value.first, lanes), self.value(value.second, lanes)
        moved = shuffled(self.builder, left.ir, right.ir, value.lanes)
        return Value(moved, left.dtype, len(value.lanes))

    def _sum(self, value: vector.Sum) -> ir.Value:
        total: ir.Value | None = None
        for atom, coefficient in value.terms:
            term = self.value(atom, None).ir
            if coefficient != 1:
                term = self.builder.mul(term, INDEX(coefficient))
            total = term if total is None else self.builder.add(total, term)
        if total is None:
            return INDEX(value.constant)
        return self.builder.add(total, INDEX(value.constant)) if value.constant else total

    def slot(self, register: vector.Register) -> ir.Value:
        """The stack slot of a register."""
        return self.registers[register.array][register.number]


def lanes_of(slot: ir.Value) -> int | None:
    """The lanes of a register; None for a scalar."""
    type_ = slot.allocated_type
    return type_.count if isinstance(type_, ir.VectorType) else None
