"""The arithmetic of one statement instance: operations on loaded values, and their widest type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polysched.ir.core.kernel import Role, Statement
from polysched.ir.core.narrow_types import NarrowTypes, narrow_types
from polysched.ir.core.tree import path
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.operators import COMPARISONS, LOGICAL, PSEUDO_EXTREMA, RECIPROCALS, Operator
from polysched.ir.expr.traversal import children, index_names, loads, walk
from polysched.ir.expr.value_ranges import Write
from polysched.ir.isl.shared_results import remembered
from polysched.schedule.core.program import Program, largest_extent

_CHEAP = frozenset({Operator.NEGATE, Operator.ABSOLUTE})
_PRODUCTS = frozenset({Operator.MULTIPLY})
_SUMS = frozenset({Operator.ADD, Operator.SUBTRACT})
_SLOW = frozenset({Operator.DIVIDE, Operator.SQUARE_ROOT})
_SIMPLE = frozenset(
    {
        Operator.MINIMUM,
        Operator.MAXIMUM,
        Operator.SELECT,
        Operator.BIT_AND,
        Operator.BIT_OR,
        Operator.BIT_XOR,
        Operator.BIT_NOT,
        Operator.SHIFT_LEFT,
        Operator.SHIFT_RIGHT,
    }
    | PSEUDO_EXTREMA
    | COMPARISONS
    | LOGICAL
)
_DIVISIONS = frozenset(
    {Operator.QUOTIENT, Operator.REMAINDER, Operator.FLOOR_DIVIDE, Operator.MODULO}
)
_BY_LITERAL = 3
"""Instructions of an integer division by a literal: a product's upper half, and shifts."""
_OF_RECIPROCAL = 4
"""Instructions of a reciprocal: an estimate, and a step of Newton's iteration."""


@dataclass(frozen=True)
class Operations:
    """Arithmetic of one statement instance.

    Attributes:
        arithmetic: instructions of one slot each, after contracting products and sums to FMAs.
        slow: divisions and square roots.
        calls: functions such as ``exp``.
        are_short: whether each takes one cycle in a chain: sums and extrema of integers. LLVM puts
            the late operand of a sum alone anywhere. Selections between loaded values are left to
            rows side by side: rows of an LCS take 0.72 ns an element one by one, 0.64 ns so.
        are_integer_sums: whether all are sums and extrema of integers, so that updates of an
            element in a register take one cycle each.
    """

    arithmetic: int
    slow: int
    calls: int
    are_short: bool = False
    are_integer_sums: bool = False


def element_bits(program: Program, statement: Statement) -> int:
    """Return the width of the widest value that an instance loads, computes or stores.

    Integers are computed in fewer bits than written where the code generator narrows them.
    """
    narrow = remembered(
        lambda: _narrow_types(program), _narrow_types, (program.arrays, program.statements)
    )
    used = [program.arrays[access.array] for access in statement.accesses]
    types = [narrow.types.get(array.name, array.dtype) for array in used]
    value = narrow.value(statement.value, program.arrays[statement.target.array])
    types += [node.dtype for node in _computed(value) if node.dtype is not None]
    return max(max(8, dtype.bits) for dtype in types)


def _narrow_types(program: Program) -> NarrowTypes:
    statements = program.statements.values()
    subscript_loads = [
        load for statement in statements for at in statement.target.subscripts for load in loads(at)
    ]
    writes = [_write(program, statement) for statement in statements]
    return narrow_types(program.arrays, writes, [load.array for load in subscript_loads])


def _write(program: Program, statement: Statement) -> Write:
    """Return the assignment of a statement.

    Repetitions are counted only for sums of integers in temporaries: the ranges of other arrays do
    not depend on them, and isl takes long to count the iterations of skewed tiles.
    """
    write = Write(statement.target.array, statement.target.subscripts, statement.value)
    array = program.arrays[write.array]
    if array.role is not Role.TEMPORARY or not array.dtype.is_integer or write.increment is None:
        return write
    return replace(write, times=_times(program, statement))


def _times(program: Program, statement: Statement) -> int | None:
    """Return how often a statement adds to one element of a temporary; None if unknown.

    The code generator computes the same number after privatizing temporaries for lanes.
    """
    loops = path(program.tree, statement.name)
    starts = [
        path(program.tree, other.name)
        for other in program.statements.values()
        if other.target.array == statement.target.array and other is not statement
    ]
    common = max(
        (sum(a is b for a, b in zip(loops, start, strict=False)) for start in starts), default=0
    )
    times = 1
    for loop in loops[common:]:
        extent = largest_extent(program, loop)
        if extent is None:
            return None
        times *= extent
    return times


def _computed(value: Expression) -> list[Operation | Cast]:
    """Return the operations of one instance on loaded values, without those of subscripts.

    Operations that do not depend on loads are computed once for many instances.
    """
    varies: dict[int, bool] = {}
    operations: list[Operation | Cast] = []
    open_nodes = [value]  # no recursion: expressions may be deep, and share subtrees
    while open_nodes:
        node = open_nodes[-1]
        operands = () if isinstance(node, Load) else children(node)
        missing = [operand for operand in operands if id(operand) not in varies]
        if missing and id(node) not in varies:
            open_nodes += missing
            continue
        open_nodes.pop()
        if id(node) in varies:
            continue
        varies[id(node)] = isinstance(node, Load) or any(
            varies[id(operand)] for operand in operands
        )
        if varies[id(node)] and isinstance(node, Operation | Cast):
            operations.append(node)
    return operations


def count_operations(statement: Statement, *, fp_contract: bool) -> Operations:
    """Count the arithmetic of one instance of a statement."""
    sums = products = simple = slow = calls = 0
    are_integer_sums, has_extremum = True, False
    computed = _computed(statement.value)
    shared = {id(part) for factor in _shared_factors(computed, statement) for part in walk(factor)}
    for node in computed:
        if not isinstance(node, Operation) or id(node) in shared:
            continue
        operator = node.operator
        are_integer_sums = are_integer_sums and _is_short(node)
        has_extremum |= operator in (Operator.MINIMUM, Operator.MAXIMUM)
        if operator in _SUMS:
            sums += 1
        elif operator in _PRODUCTS:
            products += 1
        elif operator in _DIVISIONS and isinstance(node.operands[1], Constant):
            simple += _BY_LITERAL
        elif operator in RECIPROCALS:
            simple += _OF_RECIPROCAL
        elif operator is Operator.FMA or operator in _SIMPLE:
            simple += 1
        elif operator in _SLOW:
            slow += 1
        elif operator not in _CHEAP:
            calls += 1
    fused = min(sums, products) if fp_contract else 0
    return Operations(
        sums + products - fused + simple,
        slow,
        calls,
        are_integer_sums and has_extremum,
        are_integer_sums,
    )


def _shared_factors(
    computed: Sequence[Operation | Cast], statement: Statement
) -> Iterator[Expression]:
    """Yield the reciprocals that the innermost loop does not change: computed before it."""
    for node in computed:
        if isinstance(node, Operation) and node.operator in _PRODUCTS:
            for factor in node.operands:
                is_reciprocal = (
                    isinstance(factor, Operation)
                    and factor.operator is Operator.DIVIDE
                    and isinstance(factor.operands[0], Constant)
                )
                if is_reciprocal and not {*statement.indices[-1:]} & {*index_names(factor)}:
                    yield factor


def _is_short(node: Operation) -> bool:
    if node.operator is Operator.SELECT and any(map(loads, node.operands[1:])):
        return False
    is_integer = node.dtype is not None and not node.dtype.is_float
    return is_integer and node.operator in _SUMS | _SIMPLE | _CHEAP
