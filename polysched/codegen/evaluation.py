"""The values of expressions in LLVM IR, where the code stands that uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from polysched.codegen.accesses import Accesses, Lanes
from polysched.codegen.intrinsics import lane_numbers
from polysched.codegen.latency import ANYWHERE, Contraction
from polysched.codegen.memory import Addresses, Storage
from polysched.codegen.narrowing import narrowed
from polysched.codegen.register_slots import RegisterSlots
from polysched.codegen.values import INDEX, Value, element_type, emit_cast, emit_operator, widened
from polysched.errors import LoweringError
from polysched.ir.core.kernel import Array
from polysched.ir.expr.dtypes import DType, boolean, i64
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
)
from polysched.ir.expr.linear import Interval, Intervals, linear_form


class Evaluator:
    """Emits the values of expressions; holds LLVM's builder and what is in scope.

    Args:
        builder: positioned in a function.
        parameters: LLVM values of the kernel's parameters.
        storages: places of the arrays in memory.
        registers: stack slots, which LLVM turns into SSA values, of the register arrays; of a
            register tile one for each of its vectors.
        known: intervals of the parameters.
        variables: LLVM values of the variables of the loops around.
        features: LLVM's names of the instruction sets that may be used by name.
        fp_contract: which products and sums may become one FMA.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        parameters: Mapping[str, Any],
        storages: Mapping[str, Storage],
        registers: Mapping[str, tuple[Array, Any]],
        known: Intervals,
        *,
        variables: Mapping[str, Any] | None = None,
        features: Set[str] = frozenset(),
        fp_contract: Contraction = ANYWHERE,
    ) -> None:
        self.builder = builder
        self.parameters = parameters
        self.storages = storages
        self.registers = registers
        self.slots = RegisterSlots(builder)
        self.known = known
        self.variables = variables or {}
        self.features = features
        self.fp_contract = fp_contract
        self.addresses = Addresses(builder, self.index)
        self.accesses = Accesses(builder, self.addresses, self.value, features)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A part of the code that is not always run: what it has computed is not used after it."""
        self.addresses.enter()
        try:
            yield
        finally:
            self.addresses.leave()

    @contextmanager
    def inside(self, variable: str, value: Any, reached: Interval | None = None) -> Iterator[None]:
        """The scope of a loop's body.

        Args:
            variable: the loop's variable.
            value: what it is there.
            reached: an interval of that; None if nothing is said of it.
        """
        known, variables = self.known, self.variables
        if reached is not None:
            self.known = {**known, variable: reached}
        self.variables = {**variables, variable: value}
        try:
            with self.scope():
                yield
        finally:
            self.known, self.variables = known, variables

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
                narrow = narrowed(expression)
                if narrow is not None:
                    return self.value(narrow, lanes)
                values = [self.value(operand, lanes) for operand in operands]
                width = next((v.lanes for v in values if v.lanes is not None), None)
                given = [widened(self.builder, v, width) for v in values]
                dtype = values[-1].dtype
                fp_contract = self.fp_contract.joins(expression)
                result = emit_operator(
                    self.builder, operator, dtype, given, fp_contract=fp_contract
                )
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
            slot = self.slot(load.array, load.subscripts)
            return Value(self.slots.load(slot), load.type, lanes_of(slot))
        return self.accesses.load(self.storages[load.array], load.subscripts, lanes)

    def slot(self, array: str, subscripts: tuple[Expression, ...]) -> Any:
        """The register of an array, of a register tile that which its first subscript names."""
        _, slot = self.registers[array]
        if not isinstance(slot, tuple):
            return slot
        vector = subscripts[0]
        assert isinstance(vector, Constant)
        return slot[int(vector.value)]


def lanes_of(slot: Any) -> int | None:
    """The lanes of what a register holds; None of a scalar."""
    type_ = slot.allocated_type
    return type_.count if isinstance(type_, ir.VectorType) else None
