"""The order in which operands are contracted, as ``numpy.einsum`` takes it by ``optimize=``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import opt_einsum

from polysched.errors import CallError
from polysched.frontends.einsum.operands import Labels

_STRATEGIES = ("greedy", "optimal")


@dataclass(frozen=True)
class Path:
    """An order of contractions.

    Attributes:
        strategy: opt_einsum's strategy; None for the order of the operands.
        limit: the most elements of a value between steps, as opt_einsum takes it.
        groups: the positions of the operands of each contraction; None if ``strategy`` finds them.
            Each contraction takes its operands out of the list and appends its result.
    """

    strategy: str | None = "auto"
    limit: int | None = None
    groups: tuple[tuple[int, ...], ...] | None = None


DEFAULT = Path()


def path_of(optimize: Any) -> Path:
    """Read the argument ``optimize`` of ``numpy.einsum``."""
    if optimize is True or optimize is False:
        return DEFAULT if optimize else Path(None)
    if isinstance(optimize, str) and optimize in _STRATEGIES:
        return Path(optimize)
    match optimize:
        case ["einsum_path", *groups] if all(map(_is_group, groups)):
            return Path(groups=tuple(map(tuple, groups)))
        case [bool() | str() as strategy, int() | float() as limit] if limit > 0:
            known = path_of(strategy)
            return Path(known.strategy, int(limit))
    raise CallError(
        f"einsum: optimize={optimize!r}; expected True, False, 'greedy', 'optimal', one of these "
        "with the most elements of a value between steps, or a path of numpy.einsum_path"
    )


def _is_group(group: Any) -> bool:
    return isinstance(group, tuple | list) and all(type(place) is int for place in group)


def pairs_of(
    path: Path, operands: Sequence[Labels], result: Labels, sizes: Mapping[str | int, int]
) -> list[tuple[int, int]]:
    """The pairs of operands to contract, as positions in the list of remaining operands.

    The result of each pair is appended to the list. A contraction of several operands at once, such
    as an outer product, becomes contractions of pairs.

    Raises:
        CallError: a path does not contract these operands to one.
    """
    count = len(operands)
    if path.groups is not None:
        groups: Sequence[Sequence[int]] = path.groups
    elif path.strategy is None or count <= 2:
        groups = [tuple(range(count))]
    else:
        groups = _chosen(path, operands, result, sizes)
    remaining, own, pairs = list(range(count)), list(range(count)), []
    for group in groups:
        places = sorted(set(group), reverse=True)
        if not places or len(places) < len(group) or places[-1] < 0 or places[0] >= len(remaining):
            raise CallError(
                f"einsum: the path in optimize= contracts operands {tuple(group)} of "
                f"{len(remaining)}; expected different positions below {len(remaining)}"
            )
        first, *others = [remaining.pop(place) for place in places][::-1]
        for other in others:
            pairs.append((own.index(first), own.index(other)))
            first, last = len(pairs) - 1 + count, (first, other)
            own = [*(operand for operand in own if operand not in last), first]
        remaining.append(first)
    if len(remaining) > 1:
        raise CallError(
            f"einsum: the path in optimize= leaves {len(remaining)} operands; expected one that "
            "contracts all"
        )
    return pairs


def _chosen(
    path: Path, operands: Sequence[Labels], result: Labels, sizes: Mapping[str | int, int]
) -> Sequence[Sequence[int]]:
    """The contractions that opt_einsum chooses."""
    symbols = {label: opt_einsum.get_symbol(number) for number, label in enumerate(sizes)}
    inputs = ",".join("".join(symbols[label] for label in labels) for labels in operands)
    equation = f"{inputs}->{''.join(symbols[label] for label in result)}"
    shapes = [tuple(sizes[label] for label in labels) for labels in operands]
    groups, _ = opt_einsum.contract_path(
        equation, *shapes, shapes=True, optimize=path.strategy, memory_limit=path.limit
    )
    return groups  # type: ignore[no-any-return]
