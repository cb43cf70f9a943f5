"""Random values of statements: typed expressions over loads, indices and literals."""

from __future__ import annotations

from typing import Any

from tests.campaign import typed
from tests.campaign.description import E, lit, var

_WHOLE_OPS = {
    "add": 6, "sub": 4, "mul": 3, "min": 2, "max": 2, "and": 1, "or": 1, "xor": 1.5, "fdiv": 0.7,
    "mod": 0.7, "shl": 0.5, "shr": 0.7, "neg": 0.6, "abs": 0.6, "inv": 0.4, "sel": 1.5, "cast": 3,
}  # fmt: skip
_FLOAT_OPS = {
    "add": 6, "sub": 4, "mul": 3, "min": 2, "max": 2, "div": 0.7, "neg": 0.6, "abs": 0.6,
    "floor": 0.4, "ceil": 0.4, "trunc": 0.3, "rint": 0.4, "fma": 1, "fmin": 0.5, "fmax": 0.5,
    "sel": 1.5, "cast": 2,
}  # fmt: skip
_UNARY = frozenset({"neg", "abs", "inv", "floor", "ceil", "trunc", "rint"})
_SMALL = 15


class Values:
    """Draws values at one place of a kernel."""

    def __init__(self, grower: Any, place: Any) -> None:
        self._grower, self._place, self._dice = grower, place, grower.dice

    def value(self, dtype: str, depth: int) -> E:
        if dtype == "bool":
            return self._condition(depth)
        dice = self._dice
        if depth <= 0 or dice.chance(0.15):
            return self._atom(dtype)
        op = dice.weighted(_FLOAT_OPS if dtype[0] == "f" else _WHOLE_OPS)
        if op in _UNARY:
            return E(op, dtype, (self.value(dtype, depth - 1),))
        if op == "cast":
            return self._cast(dtype, depth)
        if op == "sel":
            return E(
                "sel",
                dtype,
                (
                    self._condition(depth - 1),
                    self.value(dtype, depth - 1),
                    self.value(dtype, depth - 1),
                ),
            )
        if op == "fma":
            return E(op, dtype, tuple(self.value(dtype, depth - 1) for _ in range(3)))
        if op == "div":
            halves = lit(dice.pick((2.0, 4.0)), dtype)
            return E(op, dtype, (self.value(dtype, depth - 1), halves))
        left, right = self.value(dtype, depth - 1), self.value(dtype, depth - 1)
        if left.op == "lit" and right.op == "lit":
            left = self._load(dtype) or self._cast(dtype, 1)
        return E(op, dtype, (left, right))

    def clamped(self, value: E) -> E:
        """A floating-point value that cannot grow from iteration to iteration."""
        if value.op == "lit":
            return value
        top = E("min", value.type, (value, lit(32.0, value.type)))
        return E("max", value.type, (top, lit(-32.0, value.type)))

    def _atom(self, dtype: str) -> E:
        dice = self._dice
        if dice.chance(0.75):
            found = self._load(dtype)
            if found is not None:
                return found
        if dtype == "i64" and self._place.indices and dice.chance(0.6):
            return var(dice.pick(self._place.indices))
        if dtype[0] == "f":
            return lit(dice.pick((0.0, 1.0, -1.0, 0.5, 2.0, -3.0)), dtype)
        numbers = [0, 1, 2, 3, 5, -1, -2, 7, typed.highest(dtype), typed.lowest(dtype)]
        fitting = [n for n in numbers if typed.lowest(dtype) <= n <= typed.highest(dtype)]
        return lit(dice.pick(fitting), dtype)

    def _load(self, dtype: str) -> E | None:
        dice, grower = self._dice, self._grower
        drafts = [d for d in grower.drafts.values() if d.values is None and d.type == dtype]
        if drafts and dice.chance(0.8):
            return grower.load(dice.pick(drafts), self._place)  # type: ignore[no-any-return]
        if len(grower.drafts) < 6 and dice.chance(0.6):
            draft = grower.array("input", grower._rank(), dtype)
            return grower.load(draft, self._place)  # type: ignore[no-any-return]
        return None

    def _cast(self, dtype: str, depth: int) -> E:
        dice, grower = self._dice, self._grower
        sources = [d.type for d in grower.drafts.values() if d.type != dtype]
        source = dice.pick(sources) if sources else "i64"
        if source == dtype:
            return self._atom(dtype)
        value = self.value(source, depth - 1)
        if value.op == "lit":
            index = self._place.indices
            source, value = ("i64", var(dice.pick(index))) if index else (source, value)
            if source == dtype or value.op == "lit":
                return self._atom(dtype)
        if dtype[0] == "f" and source[0] in "iu" and int(source[1:]) > 8:
            value = E("and", source, (value, lit(_SMALL, source)))
        return E("cast", dtype, (value,))

    def _condition(self, depth: int) -> E:
        dice = self._dice
        if depth > 1 and dice.chance(0.2):
            op = dice.pick(("land", "lor", "lnot"))
            count = 1 if op == "lnot" else 2
            return E(op, "bool", tuple(self._condition(depth - 1) for _ in range(count)))
        types = [d.type for d in self._grower.drafts.values() if d.type != "bool"]
        if dice.chance(0.15):
            found = self._load("bool")
            if found is not None:
                return found
        dtype = dice.pick(types) if types else "i64"
        left, right = self.value(dtype, depth - 1), self.value(dtype, depth - 1)
        if left.op == "lit" and right.op == "lit":
            left = var(dice.pick(self._place.indices))
            right = lit(dice.pick((0, 1, 3)), "i64")
        return E(dice.pick(("lt", "le", "eq", "ne")), "bool", (left, right))
