"""Arrays of random kernels, and accesses that stay inside of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.campaign.description import Array, E, Param, add, binary, lit
from tests.campaign.drawing import (
    Affine,
    Dice,
    constant,
    expression,
    greatest_of,
    least_of,
    plus,
    upper_hull,
)

_TYPES = {
    "f32": 6, "f64": 2, "i8": 2, "i16": 2, "i32": 6, "i64": 3, "u8": 2, "u16": 1.5, "u32": 1.5,
    "u64": 1.5, "bool": 0.4, "i4": 0.8, "u4": 0.6, "i2": 0.3, "u1": 0.4, "i5": 0.4, "u7": 0.3,
    "u12": 0.4, "i13": 0.3, "i24": 0.3, "u31": 0.2, "i1": 0.1,
}  # fmt: skip


@dataclass
class Place:
    """What is around the next statement."""

    indices: tuple[str, ...] = ()
    ranges: dict[str, tuple[Affine, Affine]] = field(default_factory=dict)


@dataclass
class Draft:
    """An array whose extents follow from its accesses."""

    name: str
    type: str
    role: str
    rank: int
    ends: list[list[Affine]]
    values: E | None = None


class Accesses:
    """Draws arrays and subscripts; extents follow from all the subscripts that were drawn."""

    def __init__(self, seed: object) -> None:
        self.dice = Dice(seed)
        dice = self.dice
        count = dice.weighted({0: 3, 1: 4, 2: 3})
        self.params = tuple(
            Param(name, dice.weighted({0: 4, 1: 3, 2: 1})) for name in ("N", "M")[:count]
        )
        self.drafts: dict[str, Draft] = {}
        base = dice.weighted(_TYPES)
        self._types = [base, base, dice.weighted(_TYPES), dice.weighted(_TYPES)]

    # Arrays

    def array(self, role: str, rank: int, dtype: str | None = None) -> Draft:
        name = f"{role[0] if role != 'inout' else 'a'}{len(self.drafts)}"
        dtype = dtype or self.dice.pick(self._types)
        rank = max(rank, is_odd_width(dtype))
        draft = Draft(name, dtype, role, rank, [[] for _ in range(rank)])
        self.drafts[name] = draft
        return draft

    def _rank(self) -> int:
        return self.dice.weighted({1: 5, 2: 5, 3: 1.5, 0: 0.5})

    def readable(self) -> Draft:
        """An array to read."""
        known = [one for one in self.drafts.values() if one.values is None]
        if known and self.dice.chance(0.7):
            return self.dice.pick(known)
        return self.array("input", self._rank())

    def written(self) -> Draft:
        known = [one for one in self.drafts.values() if one.role != "input"]
        if known and self.dice.chance(0.45):
            return self.dice.pick(known)
        role = self.dice.weighted({"inout": 5, "output": 2, "temporary": 3})
        return self.array(role, self._rank())

    # Subscripts

    def subscript(self, draft: Draft, position: int, place: Place) -> E:
        """A subscript that is inside, and the array made large enough for it."""
        dice = self.dice
        if dice.chance(0.04) and place.indices:
            return self._indirect(draft, position, place)
        form: dict[str, int] = constant(dice.weighted({0: 6, 1: 2, 2: 1, 3: 0.3}))
        if place.indices and dice.chance(0.93):
            at = dice.between(0, len(place.indices) - 1)
            if position < len(place.indices) and dice.chance(0.6):
                at = position
            form[place.indices[at]] = dice.weighted({1: 12, 2: 1, 3: 0.3, -1: 1.5})
            if dice.chance(0.15):
                other = dice.pick(place.indices)
                form[other] = form.get(other, 0) + dice.pick((1, 1, -1))
        lowest = least_of(form, place.ranges)
        lift = {name: -c for name, c in lowest.items() if c < 0 or not name}
        if lowest.get("", 0) > 0:
            lift[""] = -dice.pick((0, lowest[""]))
        form = plus(form, lift)
        result, highest = expression(form), greatest_of(form, place.ranges)
        if dice.chance(0.05):
            by = dice.pick((2, 3, 4))
            result = binary("mod", result, lit(by))
            highest = constant(by - 1)
        elif dice.chance(0.03):
            result = binary("fdiv", result, lit(2))
        draft.ends[position].append(highest)
        return result

    def _indirect(self, draft: Draft, position: int, place: Place) -> E:
        dice = self.dice
        index = next((one for one in self.drafts.values() if one.values is not None), None)
        if index is None or dice.chance(0.3):
            index = self.array("input", 1, dice.pick(("i32", "i64", "u8", "i16", "u32", "i8")))
            end: dict[str, int] = constant(dice.pick((2, 3, 7)))
            if self.params and dice.chance(0.5):
                end = {self.params[0].name: 1, "": 1}
            index.values = expression(end)
            index.ends.append([end])
        end = index.ends[1][0]
        shift = dice.pick((0, 0, 1))
        draft.ends[position].append(plus(end, constant(shift - 1)))
        subscript = self.subscript_plain(index, place)
        return add(E("load", index.type, (index.name, subscript)), shift)

    def subscript_plain(self, draft: Draft, place: Place) -> E:
        index = self.dice.pick(place.indices)
        form = {index: 1}
        lowest = least_of(form, place.ranges)
        form = plus(form, {name: -c for name, c in lowest.items() if c < 0})
        draft.ends[0].append(greatest_of(form, place.ranges))
        return expression(form)

    def load(self, draft: Draft, place: Place) -> E:
        subscripts = tuple(self.subscript(draft, at, place) for at in range(draft.rank))
        return E("load", draft.type, (draft.name, *subscripts))

    def finished(self, draft: Draft) -> Array:
        dice = self.dice
        slack = -1 if dice.chance(0.01) else dice.weighted({0: 14, 1: 1, 3: 0.5})
        hulls = [plus(upper_hull(ends), constant(1)) for ends in draft.ends[: draft.rank]]
        if hulls:
            hulls[0] = plus(hulls[0], constant(slack))
        hulls = [{**one, "": max(one[""], 0)} for one in hulls]
        array = Array(
            draft.name,
            draft.type,
            draft.role,
            tuple(expression(one) for one in hulls),
            values=draft.values,
        )
        if is_odd_width(draft.type) and draft.role != "temporary":
            if draft.rank > 1:
                return replace(array, rows=dice.pick(("padded", "contiguous")))
            return array
        if draft.role != "temporary" and draft.rank in (1, 2) and dice.chance(0.12):
            return replace(array, strides=_strides(hulls, dice))
        return array


def is_odd_width(dtype: str) -> bool:
    return dtype != "bool" and int(dtype[1:]) not in (8, 16, 32, 64)


def _strides(extents: list[dict[str, int]], dice: Dice) -> tuple[E, ...]:
    inner = dice.pick((1, 1, 2, 3))
    if len(extents) == 1:
        return (lit(inner),)
    first, last = extents if dice.chance(0.3) else reversed(extents)
    wide = plus({name: inner * c for name, c in first.items()}, constant(dice.pick((0, 1, 5))))
    wide = plus(wide, constant(max(0, 1 - wide.get("", 0))))
    pair = (expression(wide), lit(inner))
    return pair if last is extents[0] else pair[::-1]
