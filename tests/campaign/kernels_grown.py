"""Random kernels: nests, arrays and statements, drawn so that accesses stay inside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.campaign.description import (
    Array,
    E,
    Loop,
    Node,
    Param,
    Program,
    Statement,
    Where,
    add,
    binary,
    lit,
    loads,
    statements,
    var,
)
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
from tests.campaign.values_grown import Values

_TYPES = {
    "f32": 6, "f64": 2, "i8": 2, "i16": 2, "i32": 6, "i64": 3, "u8": 2, "u16": 1.5, "u32": 1.5,
    "u64": 1.5, "bool": 0.4, "i4": 0.8, "u4": 0.6, "i2": 0.3, "u1": 0.4, "i5": 0.4, "u7": 0.3,
    "u12": 0.4, "i13": 0.3, "i24": 0.3, "u31": 0.2, "i1": 0.1,
}  # fmt: skip
_EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17)


@dataclass
class _Place:
    """What is around the next statement."""

    indices: tuple[str, ...] = ()
    ranges: dict[str, tuple[Affine, Affine]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)


@dataclass
class _Draft:
    """An array whose extents follow from its accesses."""

    name: str
    type: str
    role: str
    rank: int
    ends: list[list[Affine]]
    values: E | None = None


class Grower:
    """Draws one kernel."""

    def __init__(self, seed: object) -> None:
        self.dice = Dice(seed)
        dice = self.dice
        count = dice.weighted({0: 3, 1: 4, 2: 3})
        self.params = tuple(
            Param(name, dice.weighted({0: 4, 1: 3, 2: 1})) for name in ("N", "M")[:count]
        )
        self.largest_nest = 1
        self.drafts: dict[str, _Draft] = {}
        self._names = iter(f"S{i}" for i in range(99))
        base = dice.weighted(_TYPES)
        self._types = [base, base, dice.weighted(_TYPES), dice.weighted(_TYPES)]

    # Arrays

    def _array(self, role: str, rank: int, dtype: str | None = None) -> _Draft:
        name = f"{role[0] if role != 'inout' else 'a'}{len(self.drafts)}"
        draft = _Draft(
            name, dtype or self.dice.pick(self._types), role, rank, [[] for _ in range(rank)]
        )
        self.drafts[name] = draft
        return draft

    def _rank(self) -> int:
        return self.dice.weighted({1: 5, 2: 5, 3: 1.5, 0: 0.5})

    def readable(self) -> _Draft:
        """An array to read."""
        known = [one for one in self.drafts.values() if one.values is None]
        if known and self.dice.chance(0.7):
            return self.dice.pick(known)
        return self._array("input", self._rank())

    def written(self) -> _Draft:
        known = [one for one in self.drafts.values() if one.role != "input"]
        if known and self.dice.chance(0.45):
            return self.dice.pick(known)
        role = self.dice.weighted({"inout": 5, "output": 2, "temporary": 3})
        return self._array(role, self._rank())

    # Subscripts

    def subscript(self, draft: _Draft, position: int, place: _Place) -> E:
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

    def _indirect(self, draft: _Draft, position: int, place: _Place) -> E:
        dice = self.dice
        index = next((one for one in self.drafts.values() if one.values is not None), None)
        if index is None or dice.chance(0.3):
            index = self._array("input", 1, dice.pick(("i32", "i64", "u8", "i16", "u32", "i8")))
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

    def subscript_plain(self, draft: _Draft, place: _Place) -> E:
        index = self.dice.pick(place.indices)
        form = {index: 1}
        lowest = least_of(form, place.ranges)
        form = plus(form, {name: -c for name, c in lowest.items() if c < 0})
        draft.ends[0].append(greatest_of(form, place.ranges))
        return expression(form)

    def load(self, draft: _Draft, place: _Place) -> E:
        subscripts = tuple(self.subscript(draft, at, place) for at in range(draft.rank))
        return E("load", draft.type, (draft.name, *subscripts))

    # Statements

    def statement(self, place: _Place) -> Statement:
        dice = self.dice
        target = self.written()
        own = self.load(target, place)
        values = Values(self, place)
        order = None
        kind = target.type[0]
        if dice.chance(0.35) and kind in "fiu":
            ops = ("add", "add", "add", "min", "max") if kind == "f" else (
                "add", "add", "sub", "mul", "min", "max", "and", "or", "xor"
            )  # fmt: skip
            value = E(dice.pick(ops), target.type, (own, values.value(target.type, 2)))
            order = dice.pick((None, "any", "exact"))
            if value.op == "sub" or any(x.args[0] == target.name for x in loads(value.args[1])):
                order = None
        else:
            value = values.value(target.type, dice.between(1, 3))
            if kind == "f" and any(
                self.drafts[str(one.args[0])].role != "input" for one in loads(value)
            ):
                value = values.clamped(value)
        return Statement(next(self._names), target.name, own.args[1:], value, order)

    # Nests

    def _bounds(self, place: _Place, depth: int) -> tuple[E, E, int, Affine, Affine]:
        dice = self.dice
        low: dict[str, int] = constant(dice.weighted({0: 6, 1: 2, 2: 0.6}))
        if self.params and dice.chance(0.75 if depth < 2 else 0.4):
            high = {dice.pick(self.params).name: 1, "": dice.weighted({0: 6, -1: 2, 1: 1, 2: 0.5})}
        else:
            high = constant(dice.pick(_EXTENTS[: 12 - 3 * depth]))
        if place.indices and dice.chance(0.25):
            outer = dice.pick(place.indices)
            match dice.between(0, 3):
                case 0:
                    high = {outer: 1, "": dice.pick((0, 1, 1, 2))}
                case 1:
                    low = {outer: 1, "": dice.pick((0, 0, 1))}
                case 2:
                    low = {outer: 1, "": 0}
                    high = {outer: 1, "": dice.pick((2, 3, 4))}
                case _:
                    low = {outer: 2, "": 0}
                    high = {outer: 2, "": dice.pick((1, 2, 3))}
        step = dice.weighted({1: 12, 2: 1.2, 3: 0.6, 4: 0.2, -1: 1.2, -2: 0.3})
        first = least_of(low, place.ranges)
        last = plus(greatest_of(high, place.ranges), constant(-1))
        lower, upper = expression(low), expression(high)
        if dice.chance(0.06) and place.indices:
            other = {dice.pick(place.indices): 1, "": dice.pick((1, 3))}
            upper = binary("min", upper, expression(other))
        if step < 0:
            lower, upper = add(upper, -1), add(lower, -1)
        return lower, upper, step, first, last

    def _condition(self, place: _Place) -> E:
        dice = self.dice
        one = var(dice.pick(place.indices))
        match dice.between(0, 4):
            case 0:
                return E("eq", "bool", (binary("mod", one, lit(2)), lit(dice.pick((0, 1)))))
            case 1:
                other = add(var(dice.pick(place.indices)), dice.pick((-1, 0, 1)))
                return E(dice.pick(("lt", "le")), "bool", (one, other))
            case 2:
                bound = add(var(self.params[0].name), -2) if self.params else lit(5)
                return E("lt", "bool", (add(one, var(dice.pick(place.indices))), bound))
            case 3:
                return E("le", "bool", (lit(dice.pick((1, 2, 3))), one))
            case _:
                parts = (E("lt", "bool", (one, lit(2))), E("lt", "bool", (lit(4), one)))
                return E("lor", "bool", parts)

    def nest(self, place: _Place, budget: int) -> tuple[Node, ...]:
        """Loops, conditions and up to ``budget`` statements at a place."""
        dice, depth = self.dice, len(place.indices)
        nodes: list[Node] = []
        while budget > 0:
            here = dice.between(1, budget)
            budget -= here
            if depth and here == 1 and dice.chance((0, 0.35, 0.6, 0.8, 1)[depth]):
                nodes.append(self.statement(place))
                continue
            if 0 < depth < 3 and here > 1 and dice.chance(0.3):
                nodes += self._through_own(place)
                budget += here - 2
                continue
            if depth and dice.chance(0.12):
                nodes.append(Where(self._condition(place), self.nest(place, here)))
                continue
            if depth == 4:
                nodes.append(self.statement(place))
                budget += here - 1
                continue
            name = next(n for n in dice.some("ijklxyt", 7) if n not in place.indices)
            if dice.chance(0.7):
                name = "ijkl"[depth] if "ijkl"[depth] not in place.indices else name
            lower, upper, step, first, last = self._bounds(place, depth)
            inner = _Place(
                (*place.indices, name), {**place.ranges, name: (first, last)}, dict(place.steps)
            )
            nodes.append(Loop(name, lower, upper, step, self.nest(inner, here)))
        return tuple(nodes)

    def _through_own(self, place: _Place) -> tuple[Node, ...]:
        """Two loops of which the second reads what the first has written to a temporary array."""
        dice = self.dice
        extent: dict[str, int] = constant(dice.pick((1, 2, 3, 5, 8)))
        if self.params and dice.chance(0.4):
            extent = {dice.pick(self.params).name: 1, "": dice.pick((0, 1))}
        own = self._array("temporary", 1)
        name = next(n for n in "uvw" if n not in place.indices)
        inner = _Place(
            (*place.indices, name),
            {**place.ranges, name: (constant(0), plus(extent, constant(-1)))},
        )
        own.ends[0].append(plus(extent, constant(-1)))
        element = (own.name, var(name))
        value = Values(self, place).value(own.type, 2)
        first = Statement(next(self._names), own.name, (var(name),), value)
        second = self.statement(inner)
        target = self.drafts[second.array]
        if target.type == own.type and target is not own:
            load = E("load", own.type, element)
            clamp = Values(self, inner).clamped if own.type[0] == "f" else lambda one: one
            if own.type == "bool":
                combined = E("lor", "bool", (second.value, load))
            else:
                combined = clamp(E("add", own.type, (second.value, load)))
            second = replace(second, value=combined, order=None)
        bound = expression(extent)
        return tuple(Loop(name, lit(0), bound, 1, (one,)) for one in (first, second))

    # Everything

    def program(self) -> Program:
        body = self.nest(_Place(), self.dice.weighted({1: 3, 2: 4, 3: 2, 4: 1}))
        if all(draft.role == "temporary" for draft in self.drafts.values()):
            next(iter(self.drafts.values())).role = "inout"
        arrays = {draft.name: self._finished(draft) for draft in self.drafts.values()}
        initial, sources = self._initial(body, arrays)
        body = (*initial, *body)
        arrays.update((one.name, one) for one in sources)
        return Program(self.params, tuple(arrays.values()), body)

    def _finished(self, draft: _Draft) -> Array:
        dice = self.dice
        slack = -1 if dice.chance(0.01) else dice.weighted({0: 8, 1: 1, 3: 0.5})
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
        if _is_odd(draft.type) and draft.role != "temporary":
            if draft.rank == 0:
                return self._widened(array)
            if draft.rank > 1:
                return replace(array, rows=dice.pick(("padded", "contiguous")))
            return array
        if draft.role != "temporary" and draft.rank in (1, 2) and dice.chance(0.12):
            return replace(array, strides=self._strides(hulls))
        return array

    def _widened(self, array: Array) -> Array:
        """Packed arrays have a dimension at least; a number becomes a byte."""
        return replace(array, type="u8" if array.type[0] == "u" else "i8")

    def _strides(self, extents: list[dict[str, int]]) -> tuple[E, ...]:
        dice = self.dice
        inner = dice.pick((1, 1, 2, 3))
        if len(extents) == 1:
            return (lit(inner),)
        first, last = extents if dice.chance(0.3) else reversed(extents)
        wide = plus({name: inner * c for name, c in first.items()}, constant(dice.pick((0, 1, 5))))
        wide = plus(wide, constant(max(0, 1 - wide.get("", 0))))
        pair = (expression(wide), lit(inner))
        return pair if last is extents[0] else pair[::-1]

    def _initial(
        self, body: tuple[Node, ...], arrays: dict[str, Array]
    ) -> tuple[tuple[Node, ...], list[Array]]:
        """Nests that define what is read of temporaries and outputs, and the inputs they read."""
        dice = self.dice
        read = {load.args[0] for one in statements(body) for load in loads(one.value)}
        nests: list[Node] = []
        sources: list[Array] = []
        for array in arrays.values():
            if array.role not in ("temporary", "output") or array.name not in read:
                continue
            if dice.chance(0.1):
                continue
            names = ("i", "j", "k", "l")[: len(array.extents)]
            subscripts = tuple(map(var, names))
            value = _number(array.type, dice)
            if dice.chance(0.6) and not (_is_odd(array.type) and not subscripts):
                rows = "padded" if _is_odd(array.type) and len(subscripts) > 1 else None
                source = replace(
                    array, name=f"x_{array.name}", role="input", strides=None, rows=rows
                )
                sources.append(source)
                load = E("load", array.type, (source.name, *subscripts))
                value = load if array.type == "bool" else E("add", array.type, (load, value))
            node: Node = Statement(f"{array.name}_init", array.name, subscripts, value)
            for name, extent in reversed(list(zip(names, array.extents, strict=True))):
                node = Loop(name, lit(0), extent, 1, (node,))
            nests.append(node)
        return tuple(nests), sources


def _is_odd(dtype: str) -> bool:
    return dtype != "bool" and int(dtype[1:]) not in (8, 16, 32, 64)


def _number(dtype: str, dice: Dice) -> E:
    if dtype == "bool":
        return lit(dice.chance(0.5), dtype)
    if dtype[0] == "f":
        return lit(dice.pick((0.0, 1.0, 3.0)), dtype)
    return lit(0 if dtype == "i1" else dice.pick((0, 1)), dtype)


def grown(seed: object) -> Program:
    """The kernel of a seed."""
    return Grower(seed).program()
