"""Pass: compute scalar recurrences of integer minima and maxima in vector registers.

On x86 a scalar minimum takes a comparison and a conditional move, which are two cycles of latency;
a vector minimum takes one. LLVM also turns some conditional moves into branches, which are
mispredicted. A recurrence such as ``h = max(h - 1, x[j])`` waits for this latency in every
iteration, so it is computed in the first lane of a vector (gcc's scalar-to-vector pass)::

    for j in 0..n: { h = max(h - 1, x[j]); y[j] = h }

    for j in 0..n: { h = max(h - 1, first(x[j])); y[j] = first lane of h }

The other lanes are undefined. A recurrence is moved if its chain of operations from one iteration
to the next becomes shorter, and if all operations on its registers exist for vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

from polysched.ir.core.kernel import Array
from polysched.ir.expr.dtypes import DType, i32, i64, u32, u64
from polysched.ir.expr.expressions import Constant, Index
from polysched.ir.expr.operators import BITWISE, COMPARISONS, LOGICAL, Operator
from polysched.vector import ir
from polysched.vector.ir import Assign, Keep, Loop, Node, Store, VectorProgram, walk
from polysched.vector.recurrences import EXTREMA, SCALAR, Body, growth, has_extremum, scalar_body
from polysched.vector.rewrite import map_statements, statement_values, walk_value
from polysched.vector.values import (
    Apply,
    Convert,
    First,
    Lanes,
    Load,
    Only,
    Register,
    Uniform,
    Value,
    dtype_of,
)

FIRST_LANE = Only((0,))
"""The active lanes of a statement that is moved."""
REGISTER_BITS = 128
FEATURES = MappingProxyType({i32: "sse4.1", u32: "sse4.1", i64: "avx512vl", u64: "avx512vl"})
"""The instruction set with the minimum and maximum of an element type."""

_ON_NUMBERS = (
    EXTREMA | BITWISE | {Operator.ADD, Operator.SUBTRACT, Operator.NEGATE, Operator.ABSOLUTE}
)

_VECTOR = MappingProxyType(dict.fromkeys(COMPARISONS, 4))
"""Latencies of vector operations in cycles: a comparison of vectors makes a mask."""


def move_chains(program: VectorProgram, features: Set[str]) -> VectorProgram:
    """Compute recurrences of integer minima and maxima in the first lanes of vectors.

    Args:
        features: LLVM's names of the machine's instruction sets.
    """
    bodies = [body for node in walk(program.body) if (body := scalar_body(node))]
    shortened = [_shortened(body) for body in bodies]
    if not any(shortened):
        return program
    users = _users(program)
    changed: dict[int, Assign] = {}
    moved: set[str] = set()
    for dtype, feature in FEATURES.items():
        if feature in features:
            chain = _Chain(program.arrays, users, dtype, frozenset())
            for body, names in zip(bodies, shortened, strict=True):
                chain = chain.over(names, body)
            moved |= chain.registers
            nodes = [node for name in chain.registers for node in users[name]]
            nodes += [node for body in bodies for node in chain.beside(body)]
            changed |= {id(node): chain.in_first_lane(node) for node in nodes}
    arrays = {
        name: replace(array, shape=(Constant(REGISTER_BITS // array.dtype.bits),))
        if name in moved
        else array
        for name, array in program.arrays.items()
    }
    whole = map_statements(program.body, lambda node: changed.get(id(node), node))
    return replace(program, arrays=arrays, body=whole)


def _shortened(body: Body) -> list[str]:
    """The registers whose values wait for a longer chain in scalars than in vectors."""
    scalar, vector = growth(body, SCALAR), growth(body, _VECTOR)
    return [name for name in scalar if vector[name] < scalar[name]]


def _users(program: VectorProgram) -> Mapping[str, list[Node]]:
    """For each register array, the nodes that read or write it, apart from the nodes inside."""
    users: dict[str, list[Node]] = {name: [] for name in program.arrays}
    for node in walk(program.body):
        for name in dict.fromkeys(_registers(node)):
            users[name].append(node)
    return users


def _registers(node: Node) -> Iterator[str]:
    match node:
        case Loop(lower=lower, upper=upper, until=until):
            roots: tuple[Value, ...] = (lower, upper) if until is None else (lower, upper, until)
        case ir.Branch(condition=condition):
            roots = (condition,)
        case ir.Transpose(rows=rows, columns=columns):
            yield from (rows, columns)
            return
        case ir.Sequence() | ir.Tiles():
            return
        case _:
            roots = tuple(statement_values(node))
    if isinstance(node, Assign | ir.Call) and isinstance(node.target, Keep):
        yield node.target.register.array
    for root in roots:
        yield from (part.array for part in walk_value(root) if isinstance(part, Register))


@dataclass(frozen=True)
class _Chain:
    """Scalar registers of one element type that vectors are to hold.

    Attributes:
        users: for each register array, the nodes that read or write it.
    """

    arrays: Mapping[str, Array]
    users: Mapping[str, list[Node]]
    dtype: DType
    registers: frozenset[str]

    def over(self, names: Iterable[str], body: Body) -> _Chain:
        """The chain with more registers, and with the registers that a body combines with them."""
        chain = self
        for name in names:
            chain = chain._with_register(name)
        size = -1
        while size < len(chain.registers):
            size = len(chain.registers)
            for node in body:
                if chain.registers.isdisjoint(_registers(node)):
                    continue
                for name in [name for name in _registers(node) if chain._makes(body, name)]:
                    chain = chain._with_register(name)
        return chain

    def _makes(self, body: Body, name: str) -> bool:
        """Whether a body computes a register by operations that vectors have."""
        return any(
            isinstance(node.target, Keep)
            and node.target.register.array == name
            and self._is_computed(node.value)
            for node in body
        )

    def _with_register(self, name: str) -> _Chain:
        """The chain with a register and those assigned from it; itself if one cannot be moved."""
        chain, found = self, [name]
        while found:
            chain = replace(chain, registers=chain.registers | {*found})
            found = [
                node.target.register.array
                for register in found
                for node in self.users[register]
                if isinstance(node, Assign)
                and isinstance(node.target, Keep)
                and node.target.register.array not in chain.registers
            ]
        added = chain.registers - self.registers
        nodes = [node for register in added for node in self.users[register]]
        return chain if all(map(chain._is_movable, nodes)) else self

    def beside(self, body: Body) -> Iterator[Assign]:
        """The extrema of a body whose values the chain may read from memory."""
        if self.registers.isdisjoint(name for node in body for name in _registers(node)):
            return
        for node in body:
            is_extremum = isinstance(node.target, Store) and has_extremum(node.value)
            is_apart = self.registers.isdisjoint(_registers(node))
            if is_extremum and is_apart and self._is_movable(node):
                yield node

    def _uses(self, value: Value) -> bool:
        """Whether a value reads a register of the chain."""
        return any(
            isinstance(part, Register) and part.array in self.registers
            for part in walk_value(value)
        )

    def _is_movable(self, node: Node) -> bool:
        """Whether the first lane of a vector can compute a statement."""
        if not isinstance(node, Assign) or node.lanes is not None:
            return False
        match node.target:
            case Keep(register=register):
                array = self.arrays[register.array]
                if array.shape:
                    return False
            case Store(access=access):
                array = self.arrays[access.address.array]
                is_plain = access.movement is Uniform.BROADCAST and not array.is_packed
                if not is_plain or any(self._uses(term) for term, _ in access.address.terms):
                    return False
            case _:
                return False
        return array.dtype == self.dtype and self._is_number(node.value)

    def _is_number(self, value: Value) -> bool:
        """Whether a vector can compute a number of the chain's type."""
        if dtype_of(value) != self.dtype:
            return False
        match value:
            case Register(array=array) if array in self.registers:
                return True
            case Apply(operator=operator, operands=inner) if operator in _ON_NUMBERS:
                return all(map(self._is_number, inner))
            case Apply(operator=Operator.SELECT, operands=(condition, *inner)):
                return self._is_condition(condition) and all(map(self._is_number, inner))
        return not self._uses(value)

    def _is_condition(self, value: Value) -> bool:
        match value:
            case Apply(operator=operator, operands=inner) if operator in COMPARISONS:
                if all(map(self._is_number, inner)):
                    return True
            case Apply(operator=operator, operands=inner) if operator in LOGICAL:
                return all(map(self._is_condition, inner))
        return not self._uses(value)

    def _is_computed(self, value: Value) -> bool:
        """Whether a value contains an operation that is better computed in vectors than moved."""
        return has_extremum(value) or (
            isinstance(value, Apply)
            and self._is_number(value)
            and any(
                (isinstance(part, Register) and part.array in self.registers)
                or (isinstance(part, Load) and part.dtype == self.dtype)
                for part in walk_value(value)
            )
        )

    def in_first_lane(self, node: Node) -> Assign:
        """A statement that can be moved, in the first lane of vectors."""
        assert isinstance(node, Assign)
        lanes = Lanes(REGISTER_BITS // self.dtype.bits, FIRST_LANE)
        value, target = self._number(node.value), node.target
        if isinstance(target, Store):
            target = Store(replace(target.access, movement=Uniform.CONTIGUOUS))
        elif isinstance(target, Keep):
            target = Keep(replace(target.register, is_vector=True), masked=False)
        return Assign(node.statement, target, value, lanes)

    def _number(self, value: Value) -> Value:
        match value:
            case Register(array=array) if array in self.registers:
                return replace(value, is_vector=True)
            case Apply(operator=operator, operands=inner) if self._is_computed(value):
                if operator in _ON_NUMBERS:
                    return replace(value, operands=tuple(map(self._number, inner)))
                if operator is Operator.SELECT:
                    first, second = map(self._number, inner[1:])
                    return replace(value, operands=(self._condition(inner[0]), first, second))
        return value if _is_invariant(value) else First(value)

    def _condition(self, value: Value) -> Value:
        """Build a condition of vectors, from comparisons or from a number that is moved."""
        if isinstance(value, Apply) and value.operator in LOGICAL:
            return replace(value, operands=tuple(map(self._condition, value.operands)))
        if (
            isinstance(value, Apply)
            and value.operator in COMPARISONS
            and all(map(self._is_number, value.operands))
        ):
            return replace(value, operands=tuple(map(self._number, value.operands)))
        number, zero = First(Convert(value, self.dtype)), Constant(0, self.dtype)
        return Apply(Operator.NOT_EQUAL, (number, zero), None, False)


def _is_invariant(value: Value) -> bool:
    """Whether a value is the same in all iterations, so that it is broadcast once."""
    return not any(isinstance(part, Load | Register | Index) for part in walk_value(value))
