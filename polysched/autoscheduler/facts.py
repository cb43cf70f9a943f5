"""A statement in numbers: the loops around it, the strides of its accesses, its operations.

The cost model and the recipes work on these facts alone. Splitting, reordering or marking a loop
changes facts by arithmetic, so a recipe can compare hundreds of plans without calling isl.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import islpy as isl

from polysched.autoscheduler.sizes import with_parameters
from polysched.errors import PolyschedError
from polysched.ir.core.kernel import Access, Array, Role, Statement
from polysched.ir.core.strides import concrete_strides
from polysched.ir.core.tree import LoopKind, path
from polysched.ir.expr.expressions import Index, Operation
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.operators import COMPARISONS, LOGICAL, Operator
from polysched.ir.expr.traversal import loads, walk
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.semantics.memory import concrete_shape
from polysched.schedule.core.program import Program, prefix_map

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
    | COMPARISONS
    | LOGICAL
)


@dataclass(frozen=True)
class LoopFacts:
    """One loop around a statement: its name, kind, lanes and average trip count."""

    name: str
    trip: float
    kind: LoopKind = LoopKind.SEQUENTIAL
    lanes: int = 1


@dataclass(frozen=True)
class AccessFacts:
    """One access of a statement.

    Attributes:
        bytes: of one element.
        strides: the distance in bytes between consecutive iterations of each loop, by its name;
            None if it is not constant.
        offset: the constant part of the address in bytes.
        is_argument: whether the memory is the caller's; else a temporary or a buffer.
    """

    array: str
    is_write: bool
    bytes: int
    strides: Mapping[str, int | None]
    offset: int
    is_argument: bool

    def stride(self, loop: str) -> int | None:
        """The stride along a loop; 0 along a loop that the access does not depend on."""
        return self.strides.get(loop, 0)

    def runs_with(self, other: AccessFacts) -> bool:
        """Whether two accesses move through one array in the same way, at a constant distance."""
        return self.array == other.array and self.strides == other.strides


@dataclass(frozen=True)
class Operations:
    """Arithmetic of one statement instance.

    Attributes:
        arithmetic: instructions of one slot each, after contracting products and sums to FMAs.
        slow: divisions and square roots.
        calls: functions such as ``exp``.
    """

    arithmetic: int
    slow: int
    calls: int


@dataclass(frozen=True)
class StatementFacts:
    """A statement with its loops, outermost first.

    Attributes:
        element_bits: the widest type in the statement, which decides how many lanes fit a vector.
        reads_target: whether the statement reads the element that it overwrites.
    """

    name: str
    loops: tuple[LoopFacts, ...]
    accesses: tuple[AccessFacts, ...]
    operations: Operations
    element_bits: int
    reads_target: bool

    @cached_property
    def target(self) -> AccessFacts:
        """The write."""
        return self.accesses[0]

    @property
    def instances(self) -> float:
        """The number of instances."""
        return math.prod(loop.trip for loop in self.loops)

    def loop(self, name: str) -> LoopFacts:
        """The loop of a name."""
        return next(loop for loop in self.loops if loop.name == name)

    def split(self, name: str, factor: int, outer: str, inner: str) -> StatementFacts:
        """The facts after ``split(name, factor, (outer, inner))``."""
        loops: list[LoopFacts] = []
        for loop in self.loops:
            if loop.name == name:
                inside = min(float(factor), loop.trip)
                outside = max(1.0, math.ceil(loop.trip / factor - 1e-9))
                loops += [LoopFacts(outer, outside), LoopFacts(inner, inside)]
            else:
                loops.append(loop)
        return replace(
            self,
            loops=tuple(loops),
            accesses=tuple(_split(a, name, factor, outer, inner) for a in self.accesses),
        )

    def ordered(self, order: Sequence[str]) -> StatementFacts:
        """The facts with the loops in another order."""
        return replace(self, loops=tuple(self.loop(name) for name in order))

    def marked(self, name: str, kind: LoopKind, lanes: int = 1) -> StatementFacts:
        """The facts with a loop of another kind."""
        loops = tuple(
            replace(loop, kind=kind, lanes=lanes) if loop.name == name else loop
            for loop in self.loops
        )
        return replace(self, loops=loops)


def _split(access: AccessFacts, name: str, factor: int, outer: str, inner: str) -> AccessFacts:
    stride = access.stride(name)
    if stride == 0:
        return access
    strides = {loop: value for loop, value in access.strides.items() if loop != name}
    strides[outer] = None if stride is None else stride * factor
    strides[inner] = stride
    return replace(access, strides=strides)


def statement_facts(program: Program, name: str, sizes: Mapping[str, int]) -> StatementFacts:
    """Derive the facts of a statement from a program.

    A loop whose values isl cannot invert, and an access that is not affine, get strides of None.
    """
    statement = program.statements[name]
    around = path(program.tree, name)
    times = prefix_map(statement, around, [])
    trips = _trips(times, sizes)
    loops = tuple(
        LoopFacts(loop.name, trip, loop.kind, loop.lanes)
        for loop, trip in zip(around, trips, strict=True)
    )
    names = tuple(loop.name for loop in around)
    indices = _indices_by_loop(statement, times, names)
    accesses = tuple(
        _access_facts(program.arrays[access.array], access, names, indices, sizes, position == 0)
        for position, access in enumerate(statement.accesses)
    )
    return StatementFacts(
        name,
        loops,
        accesses,
        count_operations(statement, fp_contract=program.kernel.fp_contract),
        _element_bits(program, statement),
        any(access == statement.target for access in statement.reads),
    )


def _element_bits(program: Program, statement: Statement) -> int:
    arrays = {access.array for access in statement.accesses}
    return max(max(8, program.arrays[name].dtype.bits) for name in arrays)


def _trips(times: isl.Map, sizes: Mapping[str, int]) -> list[float]:
    """Return the trip count of each loop in the middle iteration of the loops around it.

    The middle iteration of a triangular nest has the average trip count.
    """
    reached = with_parameters(times.range(), sizes)
    trips = []
    for position in range(reached.dim(isl.dim_type.set)):
        low, high = least(reached, position), greatest(reached, position)
        if low is None or high is None:
            trips.append(1.0)
            continue
        trips.append(float(high - low + 1))
        middle = reached.fix_val(isl.dim_type.set, position, isl.Val((low + high) // 2))
        if not middle.is_empty():
            reached = middle
    return trips


def _indices_by_loop(
    statement: Statement, times: isl.Map, loops: tuple[str, ...]
) -> dict[str, tuple[dict[str, int] | None, int]]:
    """Return each index as a linear function of the loops' values: coefficients and constant.

    The coefficients are None if the index is not linear in the values.
    """
    functions = isl.PwMultiAff.from_map(times.reverse())
    forms: dict[str, tuple[dict[str, int] | None, int]] = {}
    for position, index in enumerate(statement.indices):
        pieces = functions.get_pw_aff(position).get_pieces()
        candidates = [_linear(piece, loops) for _, piece in pieces]
        known = [candidate for candidate in candidates if candidate is not None]
        forms[index] = known[0] if known else (None, 0)
    return forms


def _linear(function: isl.Aff, loops: tuple[str, ...]) -> tuple[dict[str, int], int] | None:
    if function.dim(isl.dim_type.div):
        return None
    coefficients = {}
    for position, name in enumerate(loops):
        value = function.get_coefficient_val(isl.dim_type.in_, position)
        if not value.is_int():
            return None
        if not value.is_zero():
            coefficients[name] = int(value.to_python())
    constant = function.get_constant_val()
    return coefficients, int(constant.to_python()) if constant.is_int() else 0


def _access_facts(
    array: Array,
    access: Access,
    loops: tuple[str, ...],
    indices: Mapping[str, tuple[dict[str, int] | None, int]],
    sizes: Mapping[str, int],
    is_write: bool,
) -> AccessFacts:
    width = max(1, array.dtype.bits // 8)
    strides: dict[str, int | None] = {}
    offset = 0
    for subscript, step in zip(access.subscripts, _steps(array, sizes), strict=True):
        form = linear_form(subscript, {})
        offset += form.constant * step
        for atom, coefficient in form.terms:
            if isinstance(atom, Index):
                by_loop, constant = indices[atom.name]
                offset += coefficient * constant * step
                changes = dict.fromkeys(loops, None) if by_loop is None else by_loop
                for loop, change in changes.items():
                    _add(strides, loop, None if change is None else coefficient * change * step)
            elif not form.is_affine:
                names = {node.name for node in walk(atom) if isinstance(node, Index)}
                for loop in loops:
                    if any(_depends(indices[name], loop) for name in names):
                        strides[loop] = None
    return AccessFacts(
        array.name,
        is_write,
        width,
        {loop: strides[loop] for loop in loops if strides.get(loop, 0) != 0},
        offset,
        array.role is not Role.TEMPORARY,
    )


def _depends(form: tuple[dict[str, int] | None, int], loop: str) -> bool:
    return form[0] is None or loop in form[0]


def _add(strides: dict[str, int | None], loop: str, change: int | None) -> None:
    old = strides.get(loop, 0)
    strides[loop] = None if old is None or change is None else old + change


def _steps(array: Array, sizes: Mapping[str, int]) -> list[int]:
    """Return the distance in bytes between consecutive indices of each dimension.

    The dimensions that only number the tiles of a buffer take no memory: their distance is 0.
    """
    width = max(1, array.dtype.bits // 8)
    try:
        shape = concrete_shape(array.stored_shape, sizes)
        steps = concrete_strides(array, shape, sizes)
    except PolyschedError:  # an extent that is a minimum or maximum of loops
        steps = (0,) * (len(array.stored_shape) - 1) + (1,)
    return [*[0] * array.tile, *(step * width for step in steps)]


def count_operations(statement: Statement, *, fp_contract: bool) -> Operations:
    """Count the arithmetic of one instance of a statement."""
    sums = products = simple = slow = calls = 0
    subscripts = {
        id(node)
        for load in loads(statement.value)
        for subscript in load.subscripts
        for node in walk(subscript)
    }
    for node in walk(statement.value):
        # The arithmetic of addresses is left to the loops around and to addressing modes.
        if not isinstance(node, Operation) or id(node) in subscripts:
            continue
        operator = node.operator
        if operator in _SUMS:
            sums += 1
        elif operator in _PRODUCTS:
            products += 1
        elif operator is Operator.FMA or operator in _SIMPLE:
            simple += 1
        elif operator in _SLOW:
            slow += 1
        elif operator not in _CHEAP:
            calls += 1
    fused = min(sums, products) if fp_contract else 0
    return Operations(sums + products - fused + simple, slow, calls)
