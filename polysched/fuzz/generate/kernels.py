"""Generate small random kernels: triangular, guarded, in-place, reductions, pipelines, dense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from polysched.fuzz.generate.dense import dense
from polysched.fuzz.generate.drafting import (
    Draft,
    Target,
    element,
    guarded,
    index_range,
    new_array,
    new_draft,
)
from polysched.fuzz.generate.layouts import laid_out
from polysched.fuzz.generate.limits import Limits
from polysched.fuzz.generate.randomness import Integers, chance, choose
from polysched.fuzz.generate.sketch import (
    ArraySketch,
    AssignSketch,
    KernelSketch,
    PartSketch,
    WhereSketch,
    assignments,
)
from polysched.fuzz.generate.values import converted, number, reduction, value
from polysched.ir.core.kernel import Order, Role
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression, Load
from polysched.ir.expr.functions import cast, maximum

DEFAULT_LIMITS = Limits()


def random_sketch(integers: Integers, limits: Limits = DEFAULT_LIMITS) -> KernelSketch:
    """Generate a random kernel of one to four statements, plus those that fill a temporary."""
    draft = new_draft(integers, limits)
    body = choose(integers, [_anything, _anything, _pipeline, _accumulation, dense])(draft)
    written = {statement.target.array for statement in assignments(body)}
    arrays = tuple(_declared(target.sketch, written) for target in draft.arrays)
    arrays = tuple(laid_out(integers, array, strided=limits.strided) for array in arrays)
    return KernelSketch(draft.parameters, arrays, body, fp_contract=not limits.exact)


def _declared(array: ArraySketch, written: set[str]) -> ArraySketch:
    """Turn an output that nothing writes into an input."""
    is_input = array.role is Role.OUTPUT and array.name not in written
    return replace(array, role=Role.INPUT) if is_input else array


# -- anything: unrelated random statements -------------------------------------------------------


def _anything(draft: Draft) -> tuple[PartSketch, ...]:
    integers = draft.integers
    body: list[PartSketch] = []
    new_array(draft, Role.INOUT, 1)
    new_array(draft, Role.INOUT, choose(integers, [2, 1, 2, 0, 3]))
    if chance(integers, 1, 3):
        new_array(draft, choose(integers, [Role.INPUT, Role.OUTPUT]), choose(integers, [1, 2]))
    if chance(integers, 1, 3):
        scratch = new_array(draft, Role.TEMPORARY, 1)
        if chance(integers, 4, 5):
            body.append(_filled(draft, scratch))
    last = draft.statements + choose(integers, [1, 2, 3, 2, 3, 4])
    depth = choose(integers, [1, 2, 3, 3, 4])
    while draft.statements < last:
        body.append(_nest(draft, last, depth))
    return tuple(body)


def _filled(draft: Draft, scratch: Target) -> PartSketch:
    """Generate a loop that writes every element of a one-dimensional temporary."""
    (extent,) = scratch.sketch.shape
    with draft.loop(Constant(0), extent) as closed:
        index = draft.scope[-1]
        target = Load(scratch.sketch.name, (index,), scratch.sketch.dtype)
        filling = cast(index + 7, scratch.sketch.dtype)
        return closed(AssignSketch(draft.statement_name(), target, filling))


def _nest(draft: Draft, last: int, depth: int) -> PartSketch:
    integers = draft.integers
    with draft.loop(*index_range(draft)) as closed:
        body: list[PartSketch] = []
        for _ in range(integers(1, 2)):
            if draft.statements == last:
                break
            if len(draft.scope) < depth and chance(integers, 3, 5):
                body.append(_nest(draft, last, depth))
            else:
                part = guarded(draft, _statement(draft))
                body.append(part)
                if not isinstance(part, WhereSketch) or draft.statements == last:
                    continue
                if chance(integers, 1, 2):
                    body.append(WhereSketch(~part.condition, (_statement(draft),)))
        return closed(*body)


def _statement(draft: Draft) -> AssignSketch:
    """Generate an assignment, or a reduction of either order policy, to an array but no input."""
    integers = draft.integers
    name = draft.statement_name()
    array = choose(
        integers, [array for array in draft.arrays if array.sketch.role is not Role.INPUT]
    )
    target = element(draft, array)
    others = [other for other in draft.arrays if other is not array]
    if chance(integers, 1, 3):
        order = choose(integers, [Order.ANY, Order.EXACT])
        return reduction(draft, name, target, value(draft, others, target.dtype), order)
    return AssignSketch(name, target, value(draft, draft.arrays, target.dtype))


# -- pipelines: each stage reads a window of the previous stage's temporary -----------------------


def _pipeline(draft: Draft) -> tuple[PartSketch, ...]:
    integers = draft.integers
    rank = choose(integers, [1, 2])
    halos = [integers(0, 1) for _ in range(choose(integers, [1, 1, 2]))]
    extents = [choose(integers, [*draft.sizes, Constant(3)]) for _ in range(rank)]
    source = new_array(draft, Role.INPUT, rank, signed=False)
    if chance(integers, 1, 4):
        with draft.loop(Constant(0), choose(integers, draft.sizes)) as closed:
            return (closed(*_stages(draft, source, extents, halos)),)
    return _stages(draft, source, extents, halos)


def _stages(
    draft: Draft, source: Target, extents: list[Expression], halos: list[int]
) -> tuple[PartSketch, ...]:
    """Generate one stage for each halo, which widens the stage, and a last stage."""
    parts: list[PartSketch] = []
    for window, wider in zip([1, *halos], [*halos, 0], strict=True):
        is_last = len(parts) == len(halos)
        roles = [Role.OUTPUT, Role.INOUT] if is_last else [Role.TEMPORARY]
        result = new_array(draft, choose(draft.integers, roles), len(extents), signed=False)
        reach = [extent + wider for extent in extents]
        parts.append(_stage(draft, (source, result), reach, window))
        source = result
    return tuple(parts)


def _stage(
    draft: Draft, ends: tuple[Target, Target], extents: Sequence[Expression], window: int
) -> PartSketch:
    source, result = ends
    if extents:
        with draft.loop(Constant(0), extents[0]) as closed:
            return closed(_stage(draft, ends, extents[1:], window))
    indices = draft.scope[-len(result.signed) :]
    windows = [tuple(index + draft.integers(0, window) for index in indices) for _ in range(2)]
    target = Load(result.sketch.name, tuple(indices), result.sketch.dtype)
    first, second = (
        converted(draft, Load(source.sketch.name, subscripts, source.sketch.dtype), target.dtype)
        for subscripts in windows
    )
    return AssignSketch(
        draft.statement_name(), target, _weighted(draft, first, second, target.dtype)
    )


def _weighted(draft: Draft, first: Expression, second: Expression, dtype: DType) -> Expression:
    if dtype.is_float:
        return 0.5 * first + 0.5 * second
    one, two = number(1, dtype), number(2, dtype)
    options = [first + second, two * first - second, maximum(first, second) + one]
    return choose(draft.integers, options)


# -- accumulations: initialize, update, use --------------------------------------------------------


def _accumulation(draft: Draft) -> tuple[PartSketch, ...]:
    integers = draft.integers
    rank = choose(integers, [1, 0, 2])
    role = choose(integers, [Role.TEMPORARY, Role.INOUT, Role.OUTPUT])
    total = new_array(draft, role, rank, signed=False)
    source = new_array(draft, Role.INPUT, choose(integers, [1, 2]))
    result = new_array(draft, Role.OUTPUT, rank, signed=False)
    order = choose(integers, [Order.ANY, Order.ANY, Order.EXACT])
    more = choose(integers, [1, 1, 2])

    def of(array: Target) -> Load:
        return Load(array.sketch.name, tuple(draft.scope[:rank]), array.sketch.dtype)

    def set_to_one() -> PartSketch:
        return AssignSketch(draft.statement_name(), of(total), number(1, total.sketch.dtype))

    def updated(loops: int) -> PartSketch:
        if loops:
            with draft.loop(*index_range(draft)) as closed:
                return closed(updated(loops - 1))
        added = value(draft, [source], total.sketch.dtype)
        return guarded(draft, reduction(draft, draft.statement_name(), of(total), added, order))

    def used() -> PartSketch:
        dtype = result.sketch.dtype
        doubled = converted(draft, of(total), dtype) + number(2, dtype)
        return AssignSketch(draft.statement_name(), of(result), doubled)

    phases = [set_to_one, lambda: updated(more), used][: choose(integers, [3, 2])]
    extents = [choose(integers, draft.sizes) for _ in range(rank)]
    if chance(integers, 1, 2):
        return _over(draft, extents, phases)
    return tuple(part for phase in phases for part in _over(draft, extents, [phase]))


def _over(
    draft: Draft, extents: Sequence[Expression], phases: Sequence[Callable[[], PartSketch]]
) -> tuple[PartSketch, ...]:
    """Generate the phases in a common nest over the extents."""
    if not extents:
        return tuple(phase() for phase in phases)
    with draft.loop(Constant(0), extents[0]) as closed:
        return (closed(*_over(draft, extents[1:], phases)),)
