"""Shrink a failing case while its finding stays the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from polysched.fuzz.exploring import Case
from polysched.fuzz.generate.sketch import (
    AssignSketch,
    KernelSketch,
    LoopSketch,
    PartSketch,
    WhereSketch,
    assignments,
)
from polysched.fuzz.judge.judgment import Finding
from polysched.ir.core.kernel import Order
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Operation
from polysched.ir.expr.traversal import children, rebuild, walk
from polysched.schedule.table import Step

Judge = Callable[[Case], Finding | None]
"""Return the finding of a case; None if there is none, or if the case is invalid."""

T = TypeVar("T")


def shrink(
    case: Case, finding: Finding, judge: Judge, *, attempts: int = 2000, seconds: float = 60.0
) -> Case:
    """Shrink a case greedily: remove or simplify one part at a time while the finding stays.

    Args:
        finding: the finding of ``case``, which the result must have too.
        attempts: the most candidates to judge.
        seconds: wall time of the search.
    """
    left, end = attempts, time.monotonic() + seconds
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in candidates(case):
            if left == 0 or time.monotonic() > end:
                return case
            left -= 1
            if judge(candidate) is finding:
                case, is_smaller = candidate, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Yield cases with one part removed or simplified, the largest removals first."""
    for position in reversed(range(len(case.steps))):
        yield replace(case, steps=_without(case.steps, position))
    for sketch in _smaller_sketches(case.sketch):
        yield replace(case, sketch=sketch)
    for position, step in enumerate(case.steps):
        for smaller in _smaller_steps(step):
            yield replace(case, steps=_with(case.steps, position, smaller))


def _smaller_sketches(sketch: KernelSketch) -> Iterator[KernelSketch]:
    for body in _smaller_bodies(sketch.body):
        yield _tidied(replace(sketch, body=body))
    for position, array in enumerate(sketch.arrays):
        if array.strides is not None:
            smaller_array = replace(array, strides=None)
            yield replace(sketch, arrays=_with(sketch.arrays, position, smaller_array))
    for position, parameter in enumerate(sketch.parameters):
        if parameter.maximum is not None:
            smaller = replace(parameter, maximum=None)
            yield replace(sketch, parameters=_with(sketch.parameters, position, smaller))


def _tidied(sketch: KernelSketch) -> KernelSketch:
    """Remove the arrays that are not used any more."""
    used = set()
    for statement in assignments(sketch.body):
        nodes = [*walk(statement.target), *walk(statement.value)]
        used |= {node.array for node in nodes if isinstance(node, Load)}
    arrays = tuple(array for array in sketch.arrays if array.name in used)
    return replace(sketch, arrays=arrays)


def _smaller_bodies(body: tuple[PartSketch, ...]) -> Iterator[tuple[PartSketch, ...]]:
    for position, part in enumerate(body):
        if len(body) > 1 or not isinstance(part, AssignSketch):
            yield _without(body, position)
        if not isinstance(part, AssignSketch):
            yield (*body[:position], *_unwrapped(part), *body[position + 1 :])
    for position, part in enumerate(body):
        for smaller in _smaller_parts(part):
            yield _with(body, position, smaller)


def _unwrapped(part: LoopSketch | WhereSketch) -> tuple[PartSketch, ...]:
    """Return the body of a loop or condition; the loop's index becomes its lower bound."""
    if isinstance(part, WhereSketch):
        return part.body
    return tuple(_substituted(child, part.index, part.lower) for child in part.body)


def _substituted(part: PartSketch, index: str, value: Expression) -> PartSketch:
    def put(expression: Expression) -> Expression:
        return _exchanged(expression, Index(index), value)

    match part:
        case AssignSketch():
            target = put(part.target)
            assert isinstance(target, Load)
            return replace(part, target=target, value=put(part.value))
        case LoopSketch():
            body = tuple(_substituted(child, index, value) for child in part.body)
            return replace(part, lower=put(part.lower), upper=put(part.upper), body=body)
        case WhereSketch():
            body = tuple(_substituted(child, index, value) for child in part.body)
            return replace(part, condition=put(part.condition), body=body)


def _smaller_parts(part: PartSketch) -> Iterator[PartSketch]:
    match part:
        case AssignSketch():
            yield from (replace(part, value=value) for value in _smaller(part.value))
            for target in _smaller(part.target):
                assert isinstance(target, Load)
                value = _exchanged(part.value, part.target, target)
                yield replace(part, target=target, value=value)
            if part.order is Order.ANY:
                yield replace(part, order=Order.EXACT)
        case LoopSketch():
            if part.step != 1:
                yield replace(part, step=1)
            yield from (replace(part, lower=lower) for lower in _smaller(part.lower))
            yield from (replace(part, upper=upper) for upper in _smaller(part.upper))
            yield from (replace(part, body=body) for body in _smaller_bodies(part.body))
        case WhereSketch():
            yield from (
                replace(part, condition=condition) for condition in _smaller(part.condition)
            )
            yield from (replace(part, body=body) for body in _smaller_bodies(part.body))


def _smaller(expression: Expression) -> Iterator[Expression]:
    """Yield the expression with an operation replaced by an operand, or a number nearer to 0."""
    match expression:
        case Constant(value=int(value)) if value and not isinstance(value, bool):
            yield replace(expression, value=0)
            if abs(value) > 1:
                yield replace(expression, value=value // 2 if value > 0 else -(-value // 2))
                yield replace(expression, value=value - 1 if value > 0 else value + 1)
        case Operation(operands=operands):
            yield from (operand for operand in operands if operand.dtype == expression.dtype)
    operands = children(expression)
    for position, operand in enumerate(operands):
        for smaller in _smaller(operand):
            yield rebuild(expression, _with(operands, position, smaller))


def _exchanged(expression: Expression, old: Expression, new: Expression) -> Expression:
    """Replace every ``old`` in an expression, so a reduction stays a reduction."""
    if expression == old:
        return new
    operands = children(expression)
    if not operands:
        return expression
    return rebuild(expression, tuple(_exchanged(operand, old, new) for operand in operands))


def _smaller_steps(step: Step) -> Iterator[Step]:
    """Yield the step with a number nearer to 1, or without an optional argument."""
    for field in fields(step):
        value: Any = getattr(step, field.name)
        if isinstance(value, int) and not isinstance(value, bool) and value not in (1, -1):
            yield _changed(step, field.name, value - 1 if value > 1 else value + 1)
        elif value is not None and field.default is None and field.name != "into":
            yield _changed(step, field.name, None)


def _changed(step: Any, name: str, value: Any) -> Step:
    changed: Step = replace(step, **{name: value})
    return changed


def _without(items: tuple[T, ...], position: int) -> tuple[T, ...]:
    return (*items[:position], *items[position + 1 :])


def _with(items: tuple[T, ...], position: int, item: T) -> tuple[T, ...]:
    return (*items[:position], item, *items[position + 1 :])
