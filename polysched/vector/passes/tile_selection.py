"""Selection of instructions on tiles: a nest becomes a call with the tiles that it accesses.

A tile is a set of rows of consecutive elements, any distance apart. A dimension of the instruction
whose stride is free is the row of an operand, the others are its consecutive elements. A nest may
run fewer rows and fewer consecutive elements than the instruction, which is another shape of the
same tile; the shape must be literal where the call is emitted, after loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import TypeAlias

from polysched.instructions.amx import TILE_BYTES, TILE_ROWS
from polysched.instructions.declaration import Instruction
from polysched.instructions.matching import Mismatch, match_statement
from polysched.ir.core.kernel import Access, Array
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Load
from polysched.ir.expr.linear import linear_form, simplify
from polysched.ir.expr.traversal import substituted
from polysched.loops.ir.nodes import Assign, For, LoopNode, TileBox, TileCall, map_children
from polysched.vector.classify import literal_strides
from polysched.vector.tiles import operand_load, tile_shape

Pairing: TypeAlias = Mapping[str, For]
"""The loop of each dimension of an instruction; a dimension without a loop has one iteration."""

_Step: TypeAlias = tuple[int, int | None]
"""The distance in memory of consecutive iterations: a number, and the dimension whose stride, known
only at run time, is its unit; None for elements.
"""


def incomplete_tile(nest: list[For], body: LoopNode) -> str | None:
    """The reason why a nest has no tile of one shape; None if it has one."""
    if not isinstance(body, Assign):
        return f"the statement in loop '{nest[-1].loop}' runs under a condition"
    variables = {loop.variable for loop in nest}
    for loop in nest:
        ends = [linear_form(end, {}) for end in (loop.lower, loop.upper)]
        if loop.step != 1 or any(end.uses(variables) for end in ends):
            return f"the trip count of loop '{loop.loop}' varies in the nest"
    return None


def as_loops(node: LoopNode) -> LoopNode:
    """A marked nest as sequential loops around its vector loop."""
    inner = map_children(node, as_loops)
    if not isinstance(inner, For) or inner.instruction is None:
        return inner
    kind = LoopKind.VECTOR if inner.kind is LoopKind.VECTOR else LoopKind.SEQUENTIAL
    return replace(inner, kind=kind, instruction=None)


def tile_calls(
    nest: list[For], assign: Assign, forms: tuple[Instruction, ...], arrays: Mapping[str, Array]
) -> Iterator[TileCall | str]:
    """Yield a call for each form that computes the nest, else the reason for the mismatch."""
    for form in forms:
        bindings = match_statement(form, assign.target, assign.value, arrays)
        if isinstance(bindings, Mismatch):
            yield bindings.reason
            continue
        for pairing in _pairings(form, nest):
            for binding in bindings:
                yield _call(form, pairing, nest, assign, binding, arrays)


def _pairings(form: Instruction, nest: list[For]) -> Iterator[Pairing]:
    """Yield the pairings of dimensions with loops; the innermost lanes are the vector loop."""
    lane = form.lane_dimensions[-1]
    lanes = next(({lane: loop} for loop in nest if loop.kind is LoopKind.VECTOR), {})
    others = [loop for loop in nest if loop.kind is not LoopKind.VECTOR]
    names = [name for name in form.extents if name != lane]
    for chosen in permutations(names, len(others)):
        yield {**lanes, **dict(zip(chosen, others, strict=True))}


def _call(
    form: Instruction,
    pairing: Pairing,
    nest: list[For],
    assign: Assign,
    binding: Mapping[str, Load | Constant],
    arrays: Mapping[str, Array],
) -> TileCall | str:
    target, name = assign.target, form.statement.target.array
    shared = _shared_subscript(form, pairing, target)
    if shared is not None:
        return shared
    given: dict[str, Load | Constant] = {
        name: Load(target.array, target.subscripts, arrays[target.array].dtype),
        **binding,
    }
    if form.updates and name not in form.operands:
        return f"{form.name} does not name its target '{name}' among the operands"
    tiles = []
    for operand in dict.fromkeys((name, *form.operands)):
        load, pattern = given[operand], operand_load(form, operand)
        where = f"operand '{operand}' of {form.name}"
        if isinstance(load, Constant):
            return f"{where} is the constant {load.value}; expected elements in memory"
        expected = form.kernel.arrays[operand].dtype
        if arrays[load.array].dtype != expected:
            return (
                f"array '{load.array}', {where}, has elements of type {arrays[load.array].dtype}; "
                f"expected {expected}"
            )
        shape = tile_shape(form, operand, form.extents)
        if shape is None or shape[0] > TILE_ROWS or shape[1] * expected.bytes > TILE_BYTES:
            return f"{where} is not a tile of up to {TILE_ROWS} rows of {TILE_BYTES} bytes in a row"
        box = _box(form, pairing, pattern, load, arrays)
        if isinstance(box, str):
            return f"array '{load.array}', {where}: {box}"
        tiles.append((operand, box))
    sizes: list[tuple[str, Expression]] = [
        (dimension, _extent(pairing[dimension]) if dimension in pairing else Constant(1))
        for dimension in form.extents
    ]
    for dimension, size in sizes:
        if isinstance(size, Constant) and size.value > form.extents[dimension]:
            return (
                f"loop '{pairing[dimension].loop}' runs {size.value} iterations; dimension "
                f"'{dimension}' of {form.name} has at most {form.extents[dimension]}"
            )
    meaning = as_loops(nest[0])
    assert isinstance(meaning, For)
    return TileCall(meaning, form, tuple(sizes), tuple(tiles))


def _shared_subscript(form: Instruction, pairing: Pairing, target: Access) -> str | None:
    """The reason why two results may be one element; None if each loop has its own subscript."""
    subscripts = [linear_form(subscript, {}) for subscript in target.subscripts]
    for name, loop in pairing.items():
        users = [form_ for form_ in subscripts if form_.uses({loop.variable})]
        others = {other.variable for other in pairing.values()} - {loop.variable}
        is_lane = name in form.lane_dimensions
        if len(users) != is_lane or any(form_.uses(others) for form_ in users):
            expected = "one subscript of its own" if is_lane else "no subscript"
            return f"loop '{loop.loop}', which is '{name}', must be in {expected} of {target}"
    return None


def _box(
    form: Instruction, pairing: Pairing, pattern: Load, given: Load, arrays: Mapping[str, Array]
) -> TileBox | str:
    """The tile of an operand, or the reason why its elements are not one."""
    expected = form.strides(pattern)
    row: _Step = (0, None)
    strides = literal_strides(arrays[given.array])
    variables = {loop.variable for loop in pairing.values()}
    subscripts = [linear_form(subscript, {}) for subscript in given.subscripts]
    moves = []
    for name, loop in pairing.items():
        steps: list[_Step] = []
        for dimension, stride in enumerate(strides):
            subscripts[dimension], coefficient = subscripts[dimension].without(loop.variable)
            if coefficient:
                moves.append((dimension, name, coefficient))
                unit = (coefficient, dimension)
                steps.append(unit if stride is None else (coefficient * stride, None))
        step = _sum(steps)
        if step is None:
            return f"the distance of consecutive iterations of loop '{loop.loop}' is not one number"
        if expected[name] is None:
            row = step
        elif step != (expected[name], None):
            return (
                f"consecutive iterations of loop '{loop.loop}' read elements that are "
                f"{step[0]} apart in memory; expected {expected[name]}"
            )
    if any(subscript.uses(variables) for subscript in subscripts):
        return f"{given} is not affine in the loops of the nest"
    starts = {loop.variable: loop.lower for loop in pairing.values()}
    first = tuple(simplify(substituted(subscript, starts), {}) for subscript in given.subscripts)
    return TileBox(Access(given.array, first), *row, tuple(moves))


def _sum(steps: list[_Step]) -> _Step | None:
    """The sum of distances; None if they have different units."""
    units = {unit for _, unit in steps}
    if len(units) > 1 or (units and units != {None} and len(steps) > 1):
        return None
    return sum(step for step, _ in steps), units.pop() if units else None


def _extent(loop: For) -> Expression:
    return linear_form(loop.upper, {}).plus(linear_form(loop.lower, {}), -1).expression()
