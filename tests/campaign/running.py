"""Compiled kernels run between guard pages and compared with the program as it is declared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tests.campaign import typed
from tests.campaign.description import Array, Program, is_free_reduction, statements
from tests.campaign.drawing import Dice
from tests.campaign.executing import Memory, Oracle, TooLong
from tests.campaign.memory import Argument

_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 31, 33)
_LONGEST = 12_000
"""Instances at most of a run."""
_LARGEST = 40_000
"""Elements at most of an array."""

Sizes = Mapping[str, int]


def drawn_sizes(program: Program, dice: Dice, count: int) -> list[dict[str, int]]:
    """Values of the parameters to run at, the smallest ones among them."""
    if not program.params:
        return [{}]
    found = [{one.name: one.minimum for one in program.params}]
    found += [
        {
            one.name: dice.pick([size for size in _SIZES if size >= one.minimum])
            for one in program.params
        }
        for _ in range(count - 1)
    ]
    return found


class Expected:
    """Arguments at some sizes, and what they hold after a run of the program as declared.

    Raises:
        executing.Undefined, executing.Outside, typed.Inexact, executing.TooLong
    """

    def __init__(self, program: Program, oracle: Oracle, sizes: Sizes, dice: Dice) -> None:
        self.sizes = sizes
        self._program, self._oracle = program, oracle
        self.before: Memory = {}
        for array in program.arrays:
            if array.role == "temporary":
                continue
            if oracle.elements(array.name, sizes) > _LARGEST:
                raise TooLong
            self.before[array.name] = _filled(array, oracle, sizes, dice)
        memory = {
            array.name: dict(self.before[array.name]) if array.role in ("input", "inout") else {}
            for array in program.arrays
        }
        oracle.run(memory, sizes, _LONGEST)
        self.after = {name: {**values, **memory[name]} for name, values in self.before.items()}
        self._signless = any(
            is_free_reduction(one) and one.value.type[0] == "f" for one in statements(program.body)
        )

    def fault(self, kernel: Any, dice: Dice, threads: int | None) -> str | None:
        """What differs when the compiled kernel runs; None if nothing does."""
        more = {} if threads is None else {"threads": threads}

        def call(arguments: Mapping[str, Argument]) -> None:
            views = {name: argument.view for name, argument in arguments.items()}
            kernel(**views, **self.sizes, **more)

        return self.fault_of(call, dice)

    def fault_of(self, call: Callable[[Mapping[str, Argument]], None], dice: Dice) -> str | None:
        """What differs after a call with arguments in memory of their own."""
        arguments = {
            array.name: Argument(array, self._oracle, self.sizes, at_end=dice.chance(0.7))
            for array in self._program.arrays
            if array.role != "temporary"
        }
        for name, argument in arguments.items():
            argument.fill(self.before[name])
        call(arguments)
        fault = None
        for name, argument in arguments.items():
            fault = fault or self._difference(name, argument.values())
        for name, argument in arguments.items():
            if not argument.close():
                fault = fault or f"bytes beside the elements of {name} were written"
        return fault

    def _difference(self, name: str, found: dict[tuple[int, ...], Any]) -> str | None:
        for place, expected in self.after[name].items():
            got = found[place]
            if isinstance(expected, float):
                same = expected == got and (
                    self._signless or math.copysign(1, expected) == math.copysign(1, got)
                )
            else:
                same = expected == got
            if not same:
                return f"{name}{list(place)} is {got}, expected {expected}, at {dict(self.sizes)}"
        return None


def _filled(array: Array, oracle: Oracle, sizes: Sizes, dice: Dice) -> dict[tuple[int, ...], Any]:
    shape = oracle.shape(array.name, sizes)
    places: list[tuple[int, ...]] = [()]
    for extent in shape:
        places = [(*place, at) for place in places for at in range(extent)]
    if array.values is not None:
        end = oracle.number(array.values, sizes)
        if end <= 0 and places:
            raise TooLong
        return {place: dice.between(0, end - 1) for place in places}
    if array.type == "bool":
        return {place: dice.chance(0.5) for place in places}
    if array.type[0] == "f":
        return {place: float(dice.between(-4, 4)) for place in places}
    low, high = typed.lowest(array.type), typed.highest(array.type)
    if dice.chance(0.5):
        low, high = max(low, -9), min(high, 9)
    return {place: dice.between(low, high) for place in places}
