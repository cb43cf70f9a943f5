"""Sums of products of small integers: several terms of every lane's sum in one instruction.

A *group* is a run of copies of one vector statement, as unrolling leaves it, which add
consecutive terms to the same sums::

    s[lane] += i32(x[4*q]) * i32(y[q, lane, 0])        s[lane] += x[4*q .. 4*q + 4]
    s[lane] += i32(x[4*q + 1]) * i32(y[q, lane, 1])               . y[q, lane, 0 .. 4]
    s[lane] += i32(x[4*q + 2]) * i32(y[q, lane, 2])
    s[lane] += i32(x[4*q + 3]) * i32(y[q, lane, 3])

Terms that are no products are added up in the same way, as products with 1.

The terms of a lane lie side by side, and those of the lanes one behind the other, or all lanes read
the same. Sums that wrap have the same bits in any order.

:func:`form_dot_products` joins the copies to one statement, whose value is the longer sum. That is
done before tiles are looked for, which would transpose ``y``.
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from polysched.codegen.dot_instructions import has_dot_product, type_of_ones
from polysched.ir.dtypes import i32
from polysched.ir.expressions import Cast, Expression, Load, Operation
from polysched.ir.operators import Operator
from polysched.ir.traversal import loads
from polysched.ir.tree import LoopKind
from polysched.loops.nodes import Assign, Block, For, LoopNode, LoopProgram, block, map_children
from polysched.vector.classify import Offset, element_offset, literal_strides


class Factors(NamedTuple):
    """What a statement multiplies: elements, converted to the type of the sums.

    Without a second one the elements of the first are added up as they are.
    """

    first: Load
    second: Load | None

    @property
    def loads(self) -> tuple[Load, ...]:
        """Those that there are."""
        return (self.first,) if self.second is None else (self.first, self.second)


@dataclass(frozen=True)
class DotProduct(Assign):
    """An assignment that adds several products.

    Attributes:
        factors: of the first one.
        terms: how many. The factors of each lie an element further in memory, those of the next
            lane at the same place or ``terms`` elements further.
    """

    factors: Factors
    terms: int


def form_dot_products(program: LoopProgram, features: Set[str]) -> LoopProgram:
    """Join copies of statements that add consecutive terms to the same sums.

    Args:
        program: loops without unrolled ones.
        features: the instruction sets of the machine, by LLVM's names.
    """
    return replace(program, body=_Former(program, features).visit(program.body))


class _Former:
    """One walk over a program."""

    def __init__(self, program: LoopProgram, features: Set[str]) -> None:
        self.arrays = program.arrays
        self.registers = frozenset(program.registers)
        self.features = features
        self.places: dict[Hashable, Offset] = {}

    def visit(self, node: LoopNode) -> LoopNode:
        if not isinstance(node, Block):
            return map_children(node, self.visit)
        made: list[LoopNode] = []
        position = 0
        while position < len(node.children):
            found = self._joined(node.children[position : position + 4])
            made.append(self.visit(node.children[position]) if found is None else found.node)
            position += 1 if found is None else found.terms
        return block(made)

    def _joined(self, nodes: tuple[LoopNode, ...]) -> _Joined | None:
        """The first of the nodes as one statement."""
        factors = []
        for node in nodes:
            one = self._factors(node)
            if one is None or not _runs_with(node, nodes[0]):
                break
            factors.append(one)
        for count in (4, 2):
            if len(factors) >= count and self._is_group(nodes[0], factors[:count]):
                return _join(nodes[:count], factors[:count])
        return None

    def _factors(self, node: LoopNode) -> Factors | None:
        """The factors of a vector statement that adds a product to what it writes."""
        if not (isinstance(node, For) and node.kind is LoopKind.VECTOR):
            return None
        if node.transposition is not None:
            return None  # that is what the schedule wants
        match node.body:
            case Assign(
                target=target,
                value=Operation(
                    operator=Operator.ADD,
                    operands=(
                        Load(array=array, subscripts=subscripts),
                        term,
                    ),
                ),
            ) if (array, subscripts) == (target.array, target.subscripts):
                factors = _product(term)
            case _:
                return None
        if factors is None:
            return None
        read = {load.array for factor in factors.loads for load in loads(factor)}
        if target.array in read or not read.isdisjoint(self.registers):
            return None
        return factors

    def _is_group(self, node: LoopNode, factors: list[Factors]) -> bool:
        """Whether there is an instruction for it and terms and lanes are neighbors in memory."""
        assert isinstance(node, For)
        count = len(factors)
        leads = factors[0].loads
        types = [self.arrays[load.array].dtype for load in leads]
        if len(leads) == 1:
            types.append(type_of_ones(types[0], count))
        if not has_dot_product(types[0], types[1], count, node.lanes, self.features):
            return False
        if not all(len(later.loads) == len(leads) for later in factors):
            return False
        loads_of = zip(*(later.loads for later in factors), strict=True)
        return all(self._are_neighbors(list(one), node.variable) for one in loads_of)

    def _are_neighbors(self, terms: list[Load], lane: str) -> bool:
        """Whether elements lie one behind the other in memory, and those of the next lane behind
        them or at the same place.
        """
        lead, *later = [self._place(load, lane) for load in terms]
        if lead.lane not in (0, len(terms)) or any(one.array != terms[0].array for one in terms):
            return False
        for distance, one in enumerate(later, 1):
            apart = one.literal.plus(lead.literal, -1)
            if (one.scaled, one.lane) != (lead.scaled, lead.lane) or not apart.is_constant:
                return False
            if apart.constant != distance:
                return False
        return True

    def _place(self, load: Load, lane: str) -> Offset:
        """Where the element of a lane lies, behind the first one of its array."""
        # By identity, which copies share where they read the same; they outlive this walk.
        key = (load.array, lane, *map(id, load.subscripts))
        if key not in self.places:
            strides = literal_strides(self.arrays[load.array])
            self.places[key] = element_offset(strides, load.subscripts, lane)
        return self.places[key]


def _product(term: Expression) -> Factors | None:
    """The factors of a term; None if it is of another form."""
    match term:
        case Operation(
            operator=Operator.MULTIPLY,
            operands=(
                Cast(operand=Load() as first, type=type_),
                Cast(operand=Load() as second),
            ),
        ) if type_ == i32:
            return Factors(first, second)
        case Cast(operand=Load() as first, type=type_) if type_ == i32:
            return Factors(first, None)
    return None


class _Joined(NamedTuple):
    """A statement, and of how many it is made."""

    node: LoopNode
    terms: int


def _runs_with(node: LoopNode, first: LoopNode) -> bool:
    """Whether two vector statements update the same sums in the same lanes."""
    assert isinstance(node, For)
    assert isinstance(first, For)
    assert isinstance(node.body, Assign)
    assert isinstance(first.body, Assign)
    return replace(node, body=first.body) == first and node.body.target == first.body.target


def _join(nodes: tuple[LoopNode, ...], factors: list[Factors]) -> _Joined:
    first = nodes[0]
    assert isinstance(first, For)
    assert isinstance(first.body, Assign)
    lead = first.body
    value: Expression = Load(lead.target.array, lead.target.subscripts, i32)
    for node in nodes:
        assert isinstance(node, For)
        assert isinstance(node.body, Assign)
        assert isinstance(node.body.value, Operation)
        value = Operation(Operator.ADD, (value, node.body.value.operands[1]), i32)
    dot = DotProduct(lead.statement, lead.instance, lead.target, value, factors[0], len(nodes))
    return _Joined(replace(first, body=dot), len(nodes))
