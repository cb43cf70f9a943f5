"""Random kernels: nests and statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.campaign.accesses_grown import Accesses, Place, is_odd_width
from tests.campaign.description import (
    Array,
    E,
    Loop,
    Node,
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
)
from tests.campaign.values_grown import Values

_EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17)


class Grower(Accesses):
    """Draws one kernel."""

    def __init__(self, seed: object) -> None:
        super().__init__(seed)
        self._names = iter(f"S{i}" for i in range(99))

    # Statements

    def statement(self, place: Place) -> Statement:
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

    def _bounds(self, place: Place, depth: int) -> tuple[E, E, int, Affine, Affine]:
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

    def _condition(self, place: Place) -> E:
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

    def nest(self, place: Place, budget: int) -> tuple[Node, ...]:
        """Loops, conditions and up to ``budget`` statements at a place."""
        dice, depth = self.dice, len(place.indices)
        nodes: list[Node] = []
        while budget > 0:
            here = dice.between(1, budget)
            budget -= here
            if depth and here == 1 and dice.chance((0, 0.35, 0.6, 0.8, 1)[depth]):
                nodes.append(self.statement(place))
                continue
            if depth == 0 and here > 1 and dice.chance(0.35):
                nodes += self._pipeline()
                budget += here - 2
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
            inner = Place((*place.indices, name), {**place.ranges, name: (first, last)})
            nodes.append(Loop(name, lower, upper, step, self.nest(inner, here)))
        return tuple(nodes)

    def _through_own(self, place: Place) -> tuple[Node, ...]:
        """Two loops of which the second reads what the first has written to a temporary array."""
        dice = self.dice
        extent: dict[str, int] = constant(dice.pick((1, 2, 3, 5, 8)))
        if self.params and dice.chance(0.4):
            extent = {dice.pick(self.params).name: 1, "": dice.pick((0, 1))}
        own = self.array("temporary", 1)
        name = next(n for n in "uvw" if n not in place.indices)
        inner = Place(
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

    def _pipeline(self) -> tuple[Node, ...]:
        """A nest that writes a temporary array, and one that reads all of it, neighbors too."""
        dice = self.dice
        rank, reach = dice.weighted({1: 5, 2: 4}), dice.between(0, 2)
        extents: list[dict[str, int]] = []
        for _ in range(rank):
            extent: dict[str, int] = constant(dice.pick(_EXTENTS))
            if self.params and dice.chance(0.6):
                extent = {dice.pick(self.params).name: 1, "": dice.pick((0, 1))}
            extents.append(extent)
        own = self.array("temporary", rank)
        names = ("i", "j")[:rank]
        wide = [plus(one, constant(reach)) for one in extents]
        for ends, extent in zip(own.ends, wide, strict=True):
            ends.append(plus(extent, constant(-1)))
        place = _box(names, wide)
        first = Statement(
            next(self._names),
            own.name,
            tuple(map(var, names)),
            Values(self, place).value(own.type, 2),
        )
        place = _box(names, extents)
        second = self.statement(place)
        value = second.value
        if self.drafts[second.array].type == own.type:
            for offset in {0, reach}:
                load = E("load", own.type, (own.name, *(add(var(n), offset) for n in names)))
                op = "lor" if own.type == "bool" else "max" if own.type[0] == "f" else "add"
                value = E(op, own.type, (value, load))
        second = replace(second, value=value, order=None)
        found: list[Node] = []
        for statement, ends in ((first, wide), (second, extents)):
            node: Node = statement
            for name, extent in reversed(list(zip(names, ends, strict=True))):
                node = Loop(name, lit(0), expression(extent), 1, (node,))
            found.append(node)
        return tuple(found)

    # Everything

    def program(self) -> Program:
        body = self.nest(Place(), self.dice.weighted({1: 3, 2: 4, 3: 2, 4: 1}))
        if all(draft.role == "temporary" for draft in self.drafts.values()):
            next(iter(self.drafts.values())).role = "inout"
        arrays = {draft.name: self.finished(draft) for draft in self.drafts.values()}
        initial, sources = self._initial(body, arrays)
        body = (*initial, *body)
        arrays.update((one.name, one) for one in sources)
        return Program(self.params, tuple(arrays.values()), body)

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
            if dice.chance(0.6) and not (is_odd_width(array.type) and not subscripts):
                rows = "padded" if is_odd_width(array.type) and len(subscripts) > 1 else None
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


def _box(names: Sequence[str], extents: Sequence[Affine]) -> Place:
    """A place inside of loops from 0 to extents."""
    ranges = {
        name: (constant(0), plus(extent, constant(-1)))
        for name, extent in zip(names, extents, strict=True)
    }
    return Place(tuple(names), dict(ranges))


def _number(dtype: str, dice: Dice) -> E:
    if dtype == "bool":
        return lit(dice.chance(0.5), dtype)
    if dtype[0] == "f":
        return lit(dice.pick((0.0, 1.0, 3.0)), dtype)
    return lit(0 if dtype == "i1" else dice.pick((0, 1)), dtype)


def grown(seed: object) -> Program:
    """The kernel of a seed."""
    return Grower(seed).program()
