"""Instruction selection: replace tensorized nests by calls of their machine instructions.

A nest is complete if its unrolled loops have the trip counts of the instruction. The memory layout
is checked here, on the subscripts of the generated loops: consecutive iterations of a loop must
read elements at the distance that the instruction expects. Nests with fewer terms remain loops.
:mod:`polysched.vector.passes.tile_selection` selects instructions on tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from itertools import permutations, product
from math import prod
from typing import TypeAlias, TypeVar

from polysched.errors import LoweringError
from polysched.instructions.declaration import Instruction
from polysched.instructions.intrinsic_check import uncompilable
from polysched.instructions.lookup import is_available, known_forms
from polysched.instructions.matching import Binding, Mismatch, match_statement
from polysched.ir.core.tree import InstructionMark, LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Load
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.traversal import loads, substituted, transform
from polysched.loops.ir.nodes import (
    Assign,
    Block,
    For,
    InstructionCall,
    LoopNode,
    LoopProgram,
    TileCall,
    map_children,
)
from polysched.machine.description import Machine
from polysched.vector.classify import literal_strides
from polysched.vector.passes.ragged_terms import whole_groups_and_rest
from polysched.vector.passes.tile_selection import as_loops, incomplete_tile, tile_calls

LANE_BITS = (8, 16, 32, 64)
"""Bits of the operand elements of one lane, which are loaded as one integer."""

Call = TypeVar("Call", InstructionCall, TileCall)

Dimensions: TypeAlias = Mapping[str, For]
"""The loop of the nest that iterates over each dimension of an instruction."""


def select_instructions(program: LoopProgram, machine: Machine) -> LoopProgram:
    """Replace every complete nest that is marked with an instruction by a call.

    Args:
        program: loops, before unrolling.
        machine: the target machine, which must support the instructions.

    Raises:
        LoweringError: a nest does not match its instruction, no run of a nest is complete, or the
            machine lacks the instruction.
    """
    selection = _Selection(program, machine)
    body = selection.visit(program.body)
    selection.require_complete()
    return replace(program, body=body)


class _Selection:
    """One walk over a program, which collects the marks with and without a complete nest."""

    def __init__(self, program: LoopProgram, machine: Machine) -> None:
        self.program = program
        self.machine = machine
        self.complete: set[InstructionMark] = set()
        self.incomplete: dict[InstructionMark, str] = {}

    def visit(self, node: LoopNode) -> LoopNode:
        if not isinstance(node, For) or node.instruction is None:
            return map_children(node, self.visit)
        mark = node.instruction
        nest = [node]
        while isinstance(nest[-1].body, For):
            nest.append(nest[-1].body)
        forms = self.program.instructions[mark.instruction]
        assign = nest[-1].body
        if forms[0].is_tile:
            return self._tile(mark, nest, assign, forms)
        reason = _incompleteness(nest, assign, forms[0])
        if reason is not None and isinstance(assign, Assign):
            parts = whole_groups_and_rest(nest, assign, forms[0])
            if parts is not None:
                self.complete.add(mark)
                whole, rest = parts
                return Block((replace(whole[-1], body=self._call(mark, whole, assign)), rest))
        if reason is not None or not isinstance(assign, Assign):
            self.incomplete.setdefault(mark, reason or "")
            return node
        self.complete.add(mark)
        (vector,) = (loop for loop in nest if loop.kind is LoopKind.VECTOR)
        return replace(vector, body=self._call(mark, nest, assign))

    def _tile(
        self, mark: InstructionMark, nest: list[For], body: LoopNode, forms: tuple[Instruction, ...]
    ) -> LoopNode:
        """The call of an instruction on tiles, or the nest as plain loops if it is not a tile."""
        reason = incomplete_tile(nest, body)
        if reason is not None or not isinstance(body, Assign):
            self.incomplete.setdefault(mark, reason or "")
            return as_loops(nest[0])
        self.complete.add(mark)
        return self._available(mark, list(tile_calls(nest, body, forms, self.program.arrays)))

    def require_complete(self) -> None:
        for mark, reason in self.incomplete.items():
            if mark not in self.complete:
                raise _error(mark, f"no run of the nest is complete: {reason}")

    def _call(self, mark: InstructionMark, nest: list[For], assign: Assign) -> InstructionCall:
        forms = self.program.instructions[mark.instruction]
        return self._available(mark, list(self._candidates(nest, assign, forms)))

    def _available(self, mark: InstructionMark, candidates: list[Call | str]) -> Call:
        """The first call of an instruction that the machine has.

        Args:
            mark: the tensorized nest.
            candidates: calls that compute it, and reasons why other forms do not.
        """
        calls = [candidate for candidate in candidates if not isinstance(candidate, str)]
        if not calls:
            reasons = [candidate for candidate in candidates if isinstance(candidate, str)]
            raise _error(mark, reasons[0] if reasons else "no form has these trip counts")
        features = self.machine.enabled_features
        for call in calls:
            if is_available(call.instruction, features):
                self._require_code(mark, call.instruction)
                return call
        required = " or ".join(
            dict.fromkeys(" and ".join(map(repr, call.instruction.features)) for call in calls)
        )
        mended = "compile for a machine that has it, or remove the tensorize step"
        if any(call.instruction.is_tile for call in calls):
            mended += "; exported code uses no AMX, code of ps.compile does"
        raise _error(
            mark,
            f"machine '{self.machine.name}' lacks the instruction, which needs the feature "
            f"{required}; {mended}",
        )

    def _require_code(self, mark: InstructionMark, instruction: Instruction) -> None:
        if instruction in known_forms(instruction.name):
            return
        failure = uncompilable(instruction, self.machine)
        if failure is not None:
            raise _error(
                mark,
                f"LLVM cannot compile '{instruction.intrinsic}' for machine '{self.machine.name}': "
                f"{failure}; expected the name and the features of an intrinsic that takes the "
                "declared operands",
            )

    def _candidates(
        self, nest: list[For], assign: Assign, forms: tuple[Instruction, ...]
    ) -> Iterator[InstructionCall | str]:
        """Yield a call for each form that computes the nest, else the reason for the mismatch."""
        for form in forms:
            bindings = match_statement(form, assign.target, assign.value, self.program.arrays)
            if isinstance(bindings, Mismatch):
                yield bindings.reason
                continue
            for dimensions in _assignments(form, nest):
                for binding in bindings:
                    reason = self._mismatch(form, dimensions, assign, binding)
                    yield _called(form, dimensions, assign, binding) if reason is None else reason

    def _mismatch(
        self, form: Instruction, dimensions: Dimensions, assign: Assign, binding: Binding
    ) -> str | None:
        """The reason why the memory layout does not match the instruction; None if it matches."""
        target = [linear_form(subscript, {}) for subscript in assign.target.subscripts]
        for name, loop in dimensions.items():
            is_lane = name in form.lane_dimensions
            if any(subscript.uses({loop.variable}) for subscript in target) is not is_lane:
                reads = "does not depend" if is_lane else "depends"
                return f"{assign.target} {reads} on loop '{loop.loop}', which is '{name}'"
        for load in form.loads:
            given = binding.get(load.array)
            if isinstance(given, Load):
                reason = self._layout_mismatch(form, dimensions, load, given)
                if reason is not None:
                    return reason
        return _not_emitted(form)

    def _layout_mismatch(
        self, form: Instruction, dimensions: Dimensions, pattern: Load, given: Load
    ) -> str | None:
        strides = form.strides(pattern)
        variables = {loop.variable for loop in dimensions.values()}
        where = f"array '{given.array}', operand '{pattern.array}' of {form.name}"
        offset = self._offset(given, variables)
        if offset is None:
            return f"{where}: its strides are not literals"
        steps = {}
        for name, loop in dimensions.items():
            offset, steps[name] = offset.without(loop.variable)
        if offset.uses(variables):
            return f"{where}: {given} is not affine in the loops of the nest"
        is_shared = pattern.array in form.broadcast and not any(
            steps[name] for name in form.lane_dimensions
        )
        for name, loop in dimensions.items():
            stride = strides[name]
            if stride is None or steps[name] == stride:
                continue
            if name in form.lane_dimensions and is_shared:
                continue
            either = name in form.lane_dimensions and pattern.array in form.broadcast
            expected = f"{stride}, or 0 in all lanes" if either else f"{stride}"
            return (
                f"{where}: consecutive iterations of loop '{loop.loop}' read elements that are "
                f"{steps[name]} apart in memory; expected {expected}"
            )
        return None

    def _offset(self, load: Load, variables: Set[str]) -> LinearForm | None:
        """The part of an element's offset that depends on ``variables``, in elements.

        None if a dimension in this part has a stride that is not a literal.
        """
        total = LinearForm((), 0)
        strides = literal_strides(self.program.arrays[load.array])
        for subscript, stride in zip(load.subscripts, strides, strict=True):
            form = linear_form(subscript, {})
            if stride is not None:
                total = total.plus(form, stride)
            elif form.uses(variables):
                return None
        return total


def _incompleteness(nest: list[For], inner: LoopNode, form: Instruction) -> str | None:
    """Why a nest is not a complete run of an instruction's loops; None if it is complete."""
    if not isinstance(inner, Assign):
        return f"the statement in loop '{nest[-1].loop}' runs under a condition"
    if len(nest) < len(form.extents):
        return "each run has fewer loops than the instruction, because some have one iteration"
    variables = {loop.variable for loop in nest}
    for loop in nest:
        if loop.kind is LoopKind.VECTOR:
            if any(linear_form(end, {}).uses(variables) for end in (loop.lower, loop.upper)):
                return f"each iteration of the nest runs other lanes of loop '{loop.loop}'"
            continue
        if not isinstance(loop.lower, Constant) or not isinstance(loop.upper, Constant):
            return f"the trip count of loop '{loop.loop}' is not a literal"
        if _trips(loop) not in form.extents.values():
            return f"loop '{loop.loop}' runs {_trips(loop)} iterations"
    return None


def _trips(loop: For) -> int:
    lower, upper = linear_form(loop.lower, {}), linear_form(loop.upper, {})
    return -(-(upper.constant - lower.constant) // loop.step)


def _assignments(form: Instruction, nest: list[For]) -> Iterator[Dimensions]:
    """Yield the pairings of an instruction's dimensions with loops of equal trip counts.

    The innermost lane dimension is the vector loop.
    """
    lane = form.lane_dimensions[-1]
    (vector,) = (loop for loop in nest if loop.kind is LoopKind.VECTOR)
    remaining = [name for name in form.extents if name != lane]
    if vector.lanes != form.extents[lane]:
        return
    for order in permutations([loop for loop in nest if loop is not vector]):
        pairs = dict(zip(remaining, order, strict=True))
        if all(_trips(loop) == form.extents[name] for name, loop in pairs.items()):
            yield {lane: vector, **pairs}


def _not_emitted(form: Instruction) -> str | None:
    """The reason why the emitter does not support an instruction; None if it does."""
    (lane,) = form.lane_dimensions
    for load in form.loads:
        if load.array == form.statement.target.array:
            continue
        strides, bits = form.strides(load), form.kernel.arrays[load.array].dtype.bits
        parts = [name for name in form.term_dimensions if strides[name]]
        width = prod(form.extents[name] for name in parts)
        reach = sum((form.extents[name] - 1) * (strides[name] or 0) for name in parts)
        if strides[lane] != width or reach != width - 1 or width * bits not in LANE_BITS:
            return (
                f"operand '{load.array}' of {form.name} has {width} elements of {bits} bits for "
                "each lane; code is generated for 8, 16, 32 or 64 consecutive bits"
            )
    return None


def _called(
    form: Instruction, dimensions: Dimensions, assign: Assign, binding: Binding
) -> InstructionCall:
    """Build the call for a nest whose loops are ``dimensions``."""
    terms = [dimensions[name] for name in form.term_dimensions]
    runs = [
        range(_first(loop), _first(loop) + _trips(loop) * loop.step, loop.step) for loop in terms
    ]
    names = [loop.variable for loop in terms]
    own = assign.value.dtype or form.kernel.arrays[form.statement.target.array].dtype
    value: Expression = Load(assign.target.array, assign.target.subscripts, own)
    for numbers in product(*runs):
        value = _term(assign, dict(zip(names, map(Constant, numbers), strict=True)), value)
    first = {name: Constant(run.start) for name, run in zip(names, runs, strict=True)}
    instance = tuple(substituted(index, first) for index in assign.instance)
    meaning = Assign(assign.statement, instance, assign.target, value)
    read = [id(load) for load in loads(assign.value)]
    order = sorted(
        binding.items(),
        key=lambda item: read.index(id(item[1])) if isinstance(item[1], Load) else len(read),
    )
    operands = []
    for name, operand in order:
        placed = substituted(operand, first)
        assert isinstance(placed, Load | Constant)
        operands.append((name, placed))
    return InstructionCall(meaning, form, tuple(operands))


def _term(assign: Assign, at: Mapping[str, Expression], before: Expression) -> Expression:
    """The value of an assignment at ``at``, where its target holds ``before``."""
    target = assign.target
    subscripts = tuple(substituted(subscript, at) for subscript in target.subscripts)

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Load) and node.array == target.array and node.subscripts == subscripts:
            return before
        return None

    return transform(substituted(assign.value, at), rule)


def _first(loop: For) -> int:
    return linear_form(loop.lower, {}).constant


def _error(mark: InstructionMark, reason: str) -> LoweringError:
    return LoweringError(f"tensorize('{mark.loop}', '{mark.instruction}'): {reason}")
