"""Plan of a contraction: a sequence of pairwise contractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched.frontends.einsum.direct_call import KernelRun
from polysched.frontends.einsum.operands import Labels, NumpyArray, View, extents, view_of
from polysched.frontends.einsum.path import DEFAULT, Path, pairs_of
from polysched.frontends.einsum.steps import Fold, Pair
from polysched.frontends.einsum.subscripts import parse_subscripts


@dataclass(frozen=True)
class PairwiseStep:
    """Contraction of two operands.

    Attributes:
        places: their positions in the list of remaining operands; the result is appended to it.
        folds: the sums over labels of a single operand, which come before the contraction.
        pair: the contraction.
    """

    places: tuple[int, int]
    folds: tuple[Fold, Fold]
    pair: Pair


@dataclass(frozen=True)
class Plan:
    """Plan of a contraction.

    Attributes:
        views: the normalizing view of each operand.
        steps: the pairwise contractions, in order.
        last: the sum and transposition that turn the last remaining operand into the result.
        is_empty: whether an extent is 0, so that the result is zero or empty.
    """

    views: tuple[View, ...]
    steps: tuple[PairwiseStep, ...]
    last: Fold
    shape: tuple[int, ...]
    is_empty: bool

    @property
    def origins(self) -> tuple[int, ...]:
        """The positions of the operands of the only step; empty if there are several steps."""
        match self.steps:
            case ():
                return (0,)
            case (step,):
                return step.places
        return ()

    def run(
        self, arrays: Sequence[NumpyArray], total: np.dtype[Any], runs: list[KernelRun]
    ) -> NumpyArray:
        """Compute the result, which may be a view of an operand. Requires not :attr:`is_empty`.

        Values between steps on half types are float32, and so may be the result.

        Args:
            arrays: the operands, of one type.
            total: the type of the result, for a last step that can compute it.
            runs: receives a record of each kernel that is run.
        """
        remaining = [view.of(array) for view, array in zip(self.views, arrays, strict=True)]
        for step in self.steps:
            taken = [remaining.pop(place) for place in sorted(step.places, reverse=True)]
            first, second = taken if step.places[0] > step.places[1] else taken[::-1]
            first, second = step.folds[0].run(first, runs), step.folds[1].run(second, runs)
            wanted = np.dtype(np.float32) if remaining else total
            remaining.append(step.pair.run(first, second, wanted, runs))
        return self.last.run(remaining[0], runs)


def make_plan(
    text: str, shapes: Sequence[tuple[int, ...]], threads: int | None, path: Path = DEFAULT
) -> Plan:
    """Plan the contraction of operands of given shapes, in the order of ``path``.

    Raises:
        FrontendError: the subscripts cannot be read, or do not fit the operands.
        CallError: the shapes do not fit each other, or the path does not fit the operands.
    """
    subscripts = parse_subscripts(text, [len(shape) for shape in shapes])
    sizes = extents(subscripts, shapes)
    views = tuple(
        view_of(labels, shape, sizes)
        for labels, shape in zip(subscripts.operands, shapes, strict=True)
    )
    remaining = [view.labels for view in views]
    steps: list[PairwiseStep] = []
    for pair in pairs_of(path, remaining, subscripts.result, sizes):
        places, (first, second) = pair, (remaining[place] for place in pair)
        others = [labels for place, labels in enumerate(remaining) if place not in pair]
        wanted = {label for labels in (*others, subscripts.result) for label in labels}
        is_last = not others
        target = subscripts.result if is_last else None
        # If the result's last label is a column of the matrix product, the product is contiguous.
        if target and target[-1] in first and target[-1] not in second:
            places, first, second = places[::-1], second, first
        step = _pairwise_step(places, (first, second), wanted, target, sizes, threads)
        steps.append(step)
        remaining = [*others, step.pair.result]
    shape = tuple(sizes[label] for label in subscripts.result)
    return Plan(
        views,
        tuple(steps),
        Fold(remaining[0], subscripts.result, sizes),
        shape,
        0 in sizes.values(),
    )


def _pairwise_step(
    places: tuple[int, int],
    operands: tuple[Labels, Labels],
    wanted: set[str | int],
    target: Labels | None,
    sizes: dict[str | int, int],
    threads: int | None,
) -> PairwiseStep:
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
    return PairwiseStep(places, folds, pair)
