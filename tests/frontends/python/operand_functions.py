"""Random functions about types: everything a frontend knows, of operands of every kind.

An operand is a literal, an index, a parameter, a number of the module (Python's, or a numpy scalar)
or an element of an array. Nothing is converted so that types go together: that is what is tested.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.ir.expr.dtypes import ALL_DTYPES, f16

DTYPES = (*map(str, ALL_DTYPES), str(f16))
NUMPY = {str(dtype): dtype.numpy().type for dtype in (*ALL_DTYPES, f16)}
_NAMES = {
    name: f"np.{'bool_' if name == 'bool' else kind.__name__}" for name, kind in NUMPY.items()
}

MODULE: Mapping[str, Any] = MappingProxyType(
    {
        "INT": 3,
        "LONG": 2**40 + 1,
        "REAL": 0.1,
        "TRUTH": True,
        **{
            f"C_{name}": kind(1 if name == "bool" else 0.7 if name[0] == "f" else 100)  # type: ignore[arg-type]
            for name, kind in NUMPY.items()
        },
        "LEAST": np.int64(-(2**63)),
        "MOST": np.uint64(2**64 - 1),
        "TENTH": np.float64(0.1),
    }
)
"""The numbers that are defined around the functions."""

LITERALS = (
    "0 1 2 3 -1 -2 7 100 127 128 255 300 -129 65536 2147483648 9223372036854775807 0.0 -0.0 0.5 "
    "0.1 -1.5 3.0 1e10 True False"
).split()
BINARY = "+ - * / // % & | ^ << >> ** < <= > >= == !=".split()
AUGMENTED = "+ - * / // % & | ^ << >>".split()
UNARY_CALLS = (
    "abs float int bool math.fabs np.absolute np.ceil np.fabs np.floor np.rint np.trunc np.square "
    "np.isnan math.sqrt np.sqrt"
).split()
BINARY_CALLS = "min max np.maximum np.minimum np.fmax np.fmin np.fmod math.fmod".split()
ROUNDED_CALLS = (
    "math.exp math.sin np.exp np.log np.tanh np.cbrt np.exp2 np.arctan np.cosh math.cbrt".split()
)
"""Functions that may differ in the last place."""


@dataclass
class OperandWriter:
    """Writes functions named ``made``; every choice comes from `random`.

    Attributes:
        arrays: the element types of the arguments that are read.
        is_rounded: whether results may differ in the last place.
    """

    random: random.Random
    arrays: dict[str, str] = field(default_factory=dict)
    is_rounded: bool = False

    def function(self) -> tuple[str, str]:
        """The function, and the one expression that it stores or adds, if there is one."""
        self.arrays = {f"x{at}": self.pick(DTYPES) for at in range(3)}
        target = "f64" if self.chance(0.4) else self.pick(DTYPES)
        body, value = self.body()
        given = ", ".join(f'{name}: "{kind}[n]"' for name, kind in self.arrays.items())
        lines = [
            f'def made(out: "{target}[n]", {given}, k: int, lo: int, hi: int):',
            "    assert 0 <= lo and hi <= len(out)",
            "    for i in range(lo, hi):",
            *(f"        {line}" for line in body),
        ]
        return "\n".join(lines) + "\n", value

    def body(self) -> tuple[list[str], str]:
        choice = self.random.random()
        if choice < 0.6:
            value = self.value(self.random.randint(1, 3))
            return [f"out[i] = {value}"], value
        if choice < 0.75:
            value = self.value(self.random.randint(0, 2))
            return [f"out[i] {self.pick(AUGMENTED)}= {value}"], ""
        first, other = self.value(1), self.value(1)
        if choice < 0.9:
            test = self.test()
            value = self.observed("t")
            lines = [f"t = {first}", f"if {test}:", f"    t = {other}"]
            if self.chance(0.3):
                lines += ["else:", f"    t = {self.value(1)}"]
            return [*lines, f"out[i] = {value}"], ""
        operator = self.pick("+-*")
        lines = [f"t = {first}", "for j in range(3):", f"    t {operator}= {other}"]
        return [*lines, f"out[i] = {self.observed('t')}"], ""

    def observed(self, text: str) -> str:
        """A value that shows the type of another one."""
        return self.pick(
            [
                text,
                f"float({text})",
                f"{text} / 3",
                f"{text} // 2",
                f"{text} + 0.1",
                f"{text} * 3",
                f"{text} {self.pick(AUGMENTED)} {self.operand()}",
            ]
        )

    def value(self, depth: int) -> str:
        if not depth:
            return self.operand()
        choice = self.random.random()
        if choice < 0.4:
            return self.binary(depth)
        if choice < 0.5:
            return f"({self.pick(['-', '+', '~', 'not '])}{self.value(depth - 1)})"
        if choice < 0.84:
            return self.call(depth)
        sides = self.value(depth - 1), self.value(depth - 1)
        return self.pick(
            [
                f"np.where({self.test()}, {sides[0]}, {sides[1]})",
                f"({sides[0]} if {self.test()} else {sides[1]})",
                f"({self.test()} {self.pick(['and', 'or'])} {self.test()})",
                f"({sides[0]} < {sides[1]} <= {self.operand()})",
            ]
        )

    def binary(self, depth: int) -> str:
        operator = self.pick(BINARY)
        if operator == "**":  # of a negative number Python makes a complex one
            return f"(abs({self.value(depth - 1)}) ** {self.pick(['2', '0.5', 'i', '3.0'])})"
        return f"({self.value(depth - 1)} {operator} {self.value(depth - 1)})"

    def call(self, depth: int) -> str:
        choice = self.random.random()
        if choice < 0.35:
            return f"{self.pick(UNARY_CALLS)}({self.value(depth - 1)})"
        if choice < 0.65:
            name = self.pick(BINARY_CALLS)
            return f"{name}({self.value(depth - 1)}, {self.value(depth - 1)})"
        if choice < 0.92:
            return f"{_NAMES[self.pick(DTYPES)]}({self.value(depth - 1)})"
        self.is_rounded = True
        return f"{self.pick(ROUNDED_CALLS)}({self.value(depth - 1)})"

    def test(self) -> str:
        side = self.pick([*self.arrays, "i", "k"])
        text = f"{side}[i]" if side in self.arrays else side
        return f"({text} {self.pick(['<', '>=', '==', '!='])} {self.pick(['0', '1', '3', '0.5'])})"

    def operand(self) -> str:
        choice = self.random.random()
        if choice < 0.25:
            return self.pick(LITERALS)
        if choice < 0.35:
            return self.pick(["i", "i", "(i - 3)", "(i * 2)"])
        if choice < 0.45:
            return "k"
        if choice < 0.65:
            return self.pick(tuple(MODULE))
        return f"{self.pick(tuple(self.arrays))}[i]"

    def pick(self, options: Any) -> str:
        found: str = self.random.choice(options)
        return found

    def chance(self, share: float) -> bool:
        return self.random.random() < share
