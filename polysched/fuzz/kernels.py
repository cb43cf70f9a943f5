"""Small random kernels: triangular, strided, modular, guarded, in place, reducing, in stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from polysched.fuzz.drafting import (
    Draft,
    Limits,
    Target,
    combined,
    element,
    guarded,
    index_range,
    new_array,
    new_draft,
    value,
)
from polysched.fuzz.randomness import Integers, chance, choose
from polysched.fuzz.sketch import (
    ArraySketch,
    AssignSketch,
    KernelSketch,
    PartSketch,
    assignments,
)
from polysched.ir.expressions import Constant, Expression, Load, as_expression
from polysched.ir.functions import cast, maximum
from polysched.ir.kernel import Order, Role

DEFAULT_LIMITS = Limits()


def random_sketch(integers: Integers, limits: Limits = DEFAULT_LIMITS) -> KernelSketch:
    """A random kernel of one to four statements (and some that fill a temporary)."""
    draft = new_draft(integers, limits)
    body = choose(integers, [_anything, _anything, _pipeline, _accumulation])(draft)
    written = {one.target.array for one in assignments(body)}
    arrays = tuple(_declared(target.sketch, written) for target in draft.arrays)
    return KernelSketch(draft.parameters, arrays, body)


def _declared(array: ArraySketch, written: set[str]) -> ArraySketch:
    """The array, which is an input after all if it was to be an output and nothing writes it."""
    is_input = array.role is Role.OUTPUT and array.name not in written
    return replace(array, role=Role.INPUT) if is_input else array


# -- anything: statements with no thought behind them --------------------------------------------


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
    """A loop that defines every element of a temporary of one dimension."""
    (extent,) = scratch.sketch.shape
    with draft.loop(Constant(0), extent) as closed:
        index = draft.scope[-1]
        target = Load(scratch.sketch.name, (index,), draft.limits.dtype)
        filling = cast(index, draft.limits.dtype) + 7
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
                body.append(guarded(draft, _statement(draft)))
        return closed(*body)


def _statement(draft: Draft) -> AssignSketch:
    """An assignment, or a reduction of either policy, to any array that is no input."""
    integers = draft.integers
    name = draft.statement_name()
    array = choose(integers, [one for one in draft.arrays if one.sketch.role is not Role.INPUT])
    target = element(draft, array)
    others = [one for one in draft.arrays if one is not array]
    if chance(integers, 1, 3):
        order = choose(integers, [Order.ANY, Order.EXACT])
        return AssignSketch(name, target, combined(draft, target, value(draft, others)), order)
    return AssignSketch(name, target, value(draft, draft.arrays))


# -- stages: temporaries handed on, each stage reading a window of the one before -----------------


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
    """One stage for each halo, which says how much wider it is, and a last one."""
    parts: list[PartSketch] = []
    for window, wider in zip([1, *halos], [*halos, 0], strict=True):
        is_last = len(parts) == len(halos)
        roles = [Role.OUTPUT, Role.INOUT] if is_last else [Role.TEMPORARY]
        made = new_array(draft, choose(draft.integers, roles), len(extents), signed=False)
        reach = [extent + wider for extent in extents]
        parts.append(_stage(draft, (source, made), reach, window))
        source = made
    return tuple(parts)


def _stage(
    draft: Draft, ends: tuple[Target, Target], extents: Sequence[Expression], window: int
) -> PartSketch:
    source, made = ends
    if extents:
        with draft.loop(Constant(0), extents[0]) as closed:
            return closed(_stage(draft, ends, extents[1:], window))
    indices = draft.scope[-len(made.signed) :]
    near = [tuple(one + draft.integers(0, window) for one in indices) for _ in range(2)]
    first, second = (Load(source.sketch.name, one, draft.limits.dtype) for one in near)
    target = Load(made.sketch.name, tuple(indices), draft.limits.dtype)
    return AssignSketch(draft.statement_name(), target, _weighted(draft, first, second))


def _weighted(draft: Draft, first: Expression, second: Expression) -> Expression:
    if draft.limits.dtype.is_float:
        return 0.5 * first + 0.5 * second
    return choose(draft.integers, [first + second, 2 * first - second, maximum(first, second) + 1])


# -- an accumulation: set, updated, used -----------------------------------------------------------


def _accumulation(draft: Draft) -> tuple[PartSketch, ...]:
    integers, dtype = draft.integers, draft.limits.dtype
    rank = choose(integers, [1, 0, 2])
    role = choose(integers, [Role.TEMPORARY, Role.INOUT, Role.OUTPUT])
    total = new_array(draft, role, rank, signed=False)
    given = new_array(draft, Role.INPUT, choose(integers, [1, 2]))
    result = new_array(draft, Role.OUTPUT, rank, signed=False)
    order = choose(integers, [Order.ANY, Order.ANY, Order.EXACT])
    more = choose(integers, [1, 1, 2])

    def of(array: Target) -> Load:
        return Load(array.sketch.name, tuple(draft.scope[:rank]), dtype)

    def set_to_one() -> PartSketch:
        return AssignSketch(draft.statement_name(), of(total), as_expression(1))

    def updated(loops: int) -> PartSketch:
        if loops:
            with draft.loop(*index_range(draft)) as closed:
                return closed(updated(loops - 1))
        name = draft.statement_name()
        sum_of = combined(draft, of(total), value(draft, [given]))
        return guarded(draft, AssignSketch(name, of(total), sum_of, order))

    def used() -> PartSketch:
        return AssignSketch(draft.statement_name(), of(result), of(total) + 2)

    phases = [set_to_one, lambda: updated(more), used][: choose(integers, [3, 2])]
    extents = [choose(integers, draft.sizes) for _ in range(rank)]
    if chance(integers, 1, 2):
        return _over(draft, extents, phases)
    return tuple(part for phase in phases for part in _over(draft, extents, [phase]))


def _over(
    draft: Draft, extents: Sequence[Expression], phases: Sequence[Callable[[], PartSketch]]
) -> tuple[PartSketch, ...]:
    """The phases in a common nest over the extents."""
    if not extents:
        return tuple(phase() for phase in phases)
    with draft.loop(Constant(0), extents[0]) as closed:
        return (closed(*_over(draft, extents[1:], phases)),)
