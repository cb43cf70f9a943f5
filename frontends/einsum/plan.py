"""The plan of a contraction: which operands meet when, and what each step computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import opt_einsum

from polysched.frontends.einsum.operands import Labels, NumpyArray, View, extents, view_of
from polysched.frontends.einsum.short_way import Ran
from polysched.frontends.einsum.steps import Fold, Pair
from polysched.frontends.einsum.subscripts import parse_subscripts


@dataclass(frozen=True)
class Meeting:
    """Two operands that meet.

    Attributes:
        places: where they stand among the operands that are left; the result is put last.
        folds: what is summed away of each before.
        pair: what they become.
    """

    places: tuple[int, int]
    folds: tuple[Fold, Fold]
    pair: Pair


@dataclass(frozen=True)
class Plan:
    """How a contraction is computed.

    Attributes:
        views: how each operand is looked at.
        meetings: in their order.
        last: from what is left to the result.
        shape: of the result.
        is_empty: whether no term is added up, or no element is there.
    """

    views: tuple[View, ...]
    meetings: tuple[Meeting, ...]
    last: Fold
    shape: tuple[int, ...]
    is_empty: bool

    @property
    def origins(self) -> tuple[int, ...]:
        """Which operands the only step takes, in its order; none if there are several steps."""
        match self.meetings:
            case ():
                return (0,)
            case (meeting,):
                return meeting.places
        return ()

    def run(self, arrays: Sequence[NumpyArray], ran: list[Ran]) -> NumpyArray:
        """Compute the result, perhaps as a view of an operand; not if :attr:`is_empty`.

        Args:
            arrays: the operands.
            ran: gets what has run.
        """
        left = [view.of(array) for view, array in zip(self.views, arrays, strict=True)]
        for meeting in self.meetings:
            taken = [left.pop(place) for place in sorted(meeting.places, reverse=True)]
            first, second = taken if meeting.places[0] > meeting.places[1] else taken[::-1]
            first, second = meeting.folds[0].run(first, ran), meeting.folds[1].run(second, ran)
            left.append(meeting.pair.run(first, second, ran))
        return self.last.run(left[0], ran)


def make_plan(text: str, shapes: Sequence[tuple[int, ...]], threads: int | None) -> Plan:
    """The plan of a contraction of operands of given shapes, in opt_einsum's order.

    Raises:
        FrontendError: the text cannot be read, or does not fit the operands.
        CallError: the shapes do not fit each other.
    """
    subscripts = parse_subscripts(text, [len(shape) for shape in shapes])
    sizes = extents(subscripts, shapes)
    views = tuple(
        view_of(labels, shape, sizes)
        for labels, shape in zip(subscripts.operands, shapes, strict=True)
    )
    left = [view.labels for view in views]
    meetings: list[Meeting] = []
    for pair in _path([view.labels for view in views], subscripts.result, sizes):
        places, (first, second) = pair, (left[place] for place in pair)
        others = [labels for place, labels in enumerate(left) if place not in pair]
        wanted = {label for labels in (*others, subscripts.result) for label in labels}
        is_last = not others
        target = subscripts.result if is_last else None
        # The label that is last in memory is best one of the columns of a product.
        if target and target[-1] in first and target[-1] not in second:
            places, first, second = places[::-1], second, first
        meeting = _meeting(places, (first, second), wanted, target, sizes, threads)
        meetings.append(meeting)
        left = [*others, meeting.pair.result]
    shape = tuple(sizes[label] for label in subscripts.result)
    return Plan(
        views,
        tuple(meetings),
        Fold(left[0], subscripts.result, sizes),
        shape,
        0 in sizes.values(),
    )


def _meeting(
    places: tuple[int, int],
    operands: tuple[Labels, Labels],
    wanted: set[str | int],
    target: Labels | None,
    sizes: dict[str | int, int],
    threads: int | None,
) -> Meeting:
    first, second = operands
    folded = tuple(
        tuple(label for label in own if label in wanted or label in other)
        for own, other in ((first, second), (second, first))
    )
    kept = dict.fromkeys((*folded[0], *folded[1]))
    both = [x for x in kept if x in wanted and x in folded[0] and x in folded[1]]
    single = [x for x in kept if x in wanted and x not in both]
    result = target if target is not None and set(target) == {*both, *single} else None
    pair = Pair(folded[0], folded[1], result or (*both, *single), sizes, threads)
    folds = (Fold(first, folded[0], sizes), Fold(second, folded[1], sizes))
    return Meeting(places, folds, pair)


def _path(
    operands: Sequence[Labels], result: Labels, sizes: dict[str | int, int]
) -> list[tuple[int, int]]:
    """The pairs that meet, as places among the operands that are left, by opt_einsum."""
    if len(operands) < 2:
        return []
    if len(operands) == 2:
        return [(0, 1)]
    symbols = {label: opt_einsum.get_symbol(number) for number, label in enumerate(sizes)}
    inputs = ",".join("".join(symbols[label] for label in labels) for labels in operands)
    equation = f"{inputs}->{''.join(symbols[label] for label in result)}"
    shapes = [tuple(sizes[label] for label in labels) for labels in operands]
    path, _ = opt_einsum.contract_path(equation, *shapes, shapes=True, optimize="auto")
    found = []
    count = len(operands)
    for places in path:
        # Several at once, as for outer products, meet one after another.
        rest = sorted(places, reverse=True)
        first = rest[0]
        for place in rest[1:]:
            found.append((place, first))
            count -= 1
            first = count - 1
    return found
