"""Random expressions in C over what is in scope: affine integers, conditions, elements, values.

Only signed overflow is undefined in them: real numbers are clamped before they become integers,
divisors are made positive or are literals, subscripts are brought into their range.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

INTEGERS = (
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
)
REALS = ("float", "double")

_INTEGER_LITERALS = (
    "0 1 2 3 7u -2L 5ul 0x1F 017 'a' 100 255 -128 32767 65536 2147483647 4294967295u 2147483648 "
    "-2147483648 0x80000000 9007199254740993 -1"
).split()
_REAL_LITERALS = (
    "1.5 0.1f .5 5. 1e-3 0x1p-2 2.5e1f -0.0 1e10 16777217.0f 0.30000000000000004".split()
)
_UNARY = (
    "sqrt fabs floor ceil trunc rint nearbyint sqrtf fabsf floorf ceilf truncf rintf nearbyintf "
    "sin cosf cbrt tanhf"
).split()
_BINARY = "fmin fmax fminf fmaxf fmod fmodf pow powf atan2 hypotf".split()


@dataclass(frozen=True)
class Typed:
    """The text of a value, and whether it is a real number."""

    text: str
    is_real: bool


@dataclass(frozen=True)
class Array:
    """An array in scope.

    Attributes:
        extents: of each dimension.
        is_flat: whether it has one subscript, over all elements.
    """

    name: str
    type: str
    extents: tuple[str, ...]
    is_flat: bool = False
    is_const: bool = False


@dataclass
class Counter:
    """The variable of a loop that is open.

    Attributes:
        size: that which it is known to stay below, from 0 on; empty if there is none.
    """

    name: str
    type: str
    size: str = ""


@dataclass
class Expressions:
    """Writes expressions over what is in scope; every choice comes from `random`."""

    random: random.Random
    arrays: list[Array] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    counters: list[Counter] = field(default_factory=list)

    # -- integers that are affine ----------------------------------------------------------------

    def affine(self, terms: int) -> str:
        """A sum over sizes and counters, from about -20 to 60."""
        names = [*self.constants, *(one.name for one in self.counters if "u" not in one.type)]
        parts = [str(self.random.randint(-3, 3))]
        for _ in range(self.random.randint(0, terms)):
            factor = self.pick(["", "", "2 * ", "-"])
            parts.append(f"{factor}{self.pick(names)}")
        text = f"({' + '.join(parts)})"
        choice = self.random.random()
        if choice < 0.1:
            return f"({text} {self.pick(['/', '%'])} {self.pick(['2', '3', '-2', '4'])})"
        if choice < 0.14:
            return f"({text} {self.pick(['>> 1', '<< 1', '& 3'])})"
        if choice < 0.18:
            return f"abs({text})" if self.only_int(text) else text
        if choice < 0.24:
            return f"({self.condition(0)} ? {text} : {self.random.randint(-2, 4)})"
        if choice < 0.28:
            return f"{self.pick(['MIN', 'MAX'])}({text}, {self.random.randint(-2, 5)})"
        return text

    def only_int(self, text: str) -> bool:
        longer = {name for name, kind in self.constants.items() if kind == "long"}
        longer |= {one.name for one in self.counters if one.type == "long"}
        longer |= {name for name in self.constants if name.startswith("t")}
        return not any(name in text for name in longer)

    def condition(self, depth: int) -> str:
        relation = self.pick(["<", "<=", ">", ">=", "==", "!="])
        simple = f"{self.affine(1)} {relation} {self.affine(1)}" if depth else f"n {relation} 4"
        choice = self.random.random()
        if depth and choice < 0.2:
            operator = self.pick(["&&", "||"])
            return f"({self.condition(depth - 1)} {operator} {self.condition(depth - 1)})"
        if depth and choice < 0.3:
            return f"!({self.condition(depth - 1)})"
        if choice < 0.36:
            return f"{self.affine(1)} % 2"
        return simple

    def element(self, array: Array) -> str:
        if array.is_flat:
            return f"{array.name}[{self.flat(array)}]"
        parts = [self.subscript(extent) for extent in array.extents]
        return array.name + "".join(f"[{one}]" for one in parts)

    def flat(self, array: Array) -> str:
        """A subscript over all elements: plain counters, or the last element."""
        if self.chance(0.1):
            return f"{' * '.join(array.extents)} - 1"
        text = ""
        for extent in array.extents:
            counters = [one.name for one in self.counters if one.size == extent]
            part = self.pick([*counters, *counters, "0"])
            text = f"({text}) * {extent} + {part}" if text else part
        return text

    def subscript(self, extent: str) -> str:
        """An affine text within 0 and an extent."""
        counters = [one.name for one in self.counters if one.size == extent]
        if counters and self.chance(0.75):
            name = self.pick(counters)
            return self.pick([name, name, f"{extent} - 1 - {name}"])
        if not extent.isdigit():
            return self.pick(["0", f"{extent} - 1"])
        if extent == "4":
            return self.pick(["0", "3", f"MIN(MAX({self.affine(1)}, 0), 3)"])
        if self.chance(0.5):
            return f"MIN(MAX({self.affine(2)}, 0), {int(extent) - 1})"
        return f"({self.affine(2)} % {extent} + {extent}) % {extent}"

    # -- values ----------------------------------------------------------------------------------

    def fitting(self, kind: str, depth: int) -> str:
        """A value that may be stored in a type."""
        return self.value(depth).text if kind in (*REALS, "_Bool") else self.integer(depth)

    def integer(self, depth: int) -> str:
        """A value that is no real number."""
        found = self.value(depth)
        return self.clamped(found.text) if found.is_real else found.text

    def clamped(self, text: str) -> str:
        """A real number that every integer type can hold, as an integer."""
        kind = self.pick(["int", "long", "signed char", "unsigned", "unsigned char"])
        return f"({kind})fmin(fmax({text}, {'0.0' if 'unsigned' in kind else '-100.0'}), 100.0)"

    def value(self, depth: int) -> Typed:
        choice = self.random.random()
        if not depth or choice < 0.2:
            return self.leaf()
        if choice < 0.6:
            left, right = self.value(depth - 1), self.value(depth - 1)
            text = f"({left.text} {self.pick('+-*')} {right.text})"
            return Typed(text, left.is_real or right.is_real)
        if choice < 0.68:
            return self.divided(depth)
        if choice < 0.76:
            return Typed(self.bits(depth), is_real=False)
        if choice < 0.8:
            return self.chosen(depth)
        if choice < 0.88:
            kind = self.pick([*INTEGERS, *REALS, "_Bool"])
            inner = self.value(depth - 1)
            is_safe = kind in (*REALS, "_Bool") or not inner.is_real
            text = inner.text if is_safe else self.clamped(inner.text)
            return Typed(f"({kind})({text})", kind in REALS)
        if choice < 0.93:
            return Typed(self.test(depth), is_real=False)
        if choice < 0.95:
            return Typed(f"abs({self.integer(depth - 1)})", is_real=False)
        if choice < 0.98:
            return Typed(f"{self.pick(_UNARY)}({self.value(depth - 1).text})", is_real=True)
        arguments = f"{self.value(depth - 1).text}, {self.value(depth - 1).text}"
        return Typed(f"{self.pick(_BINARY)}({arguments})", is_real=True)

    def bits(self, depth: int) -> str:
        left = self.integer(depth - 1)
        if self.chance(0.5):
            amount = f"({self.integer(0)} & 15)" if self.chance(0.3) else self.random.randint(0, 9)
            return f"({left} {self.pick(['<<', '>>'])} {amount})"
        sign = self.pick(["", "~"])
        return f"({sign}({left}) {self.pick('&|^')} {self.integer(depth - 1)})"

    def divided(self, depth: int) -> Typed:
        if self.chance(0.4):
            text = f"({self.value(depth - 1).text} / (double)({self.value(depth - 1).text}))"
            return Typed(text, is_real=True)
        divisor = self.pick(["3", "-4", "5u", "7L", "10ul"])
        if self.chance(0.4):
            whole = self.integer(0)
            divisor = f"({whole} > 0 ? {whole} : 3)"
        operator = self.pick(["/", "%"])
        return Typed(f"({self.integer(depth - 1)} {operator} {divisor})", is_real=False)

    def chosen(self, depth: int) -> Typed:
        left, right = self.value(depth - 1), self.value(depth - 1)
        condition = self.condition(1) if self.chance(0.3) else self.test(depth)
        if self.chance(0.2):
            text = f"{self.pick(['MIN', 'MAX'])}({left.text}, {right.text})"
        else:
            text = f"({condition} ? {left.text} : {right.text})"
        return Typed(text, left.is_real or right.is_real)

    def test(self, depth: int) -> str:
        relation = self.pick(["<", "<=", ">", ">=", "==", "!="])
        text = f"({self.value(depth - 1).text} {relation} {self.value(depth - 1).text})"
        choice = self.random.random()
        if choice < 0.15:
            return f"!{text}"
        if choice < 0.35:
            return f"({text} {self.pick(['&&', '||'])} {self.value(0).text})"
        return text

    def leaf(self) -> Typed:
        choice = self.random.random()
        if choice < 0.55:
            array = self.pick(self.arrays)
            return Typed(self.element(array), array.type in REALS)
        if choice < 0.7 and self.numbers:
            name = self.pick(list(self.numbers))
            return Typed(name, self.numbers[name] in REALS)
        if choice < 0.82:
            names = [*self.constants, *(one.name for one in self.counters)]
            return Typed(self.pick(names), is_real=False)
        if choice < 0.93:
            return Typed(self.pick(_INTEGER_LITERALS), is_real=False)
        return Typed(self.pick(_REAL_LITERALS), is_real=True)

    # -- choices ---------------------------------------------------------------------------------

    def pick(self, options: list | str | tuple) -> str:  # type: ignore[type-arg]
        return self.random.choice(options)  # type: ignore[no-any-return]

    def chance(self, share: float) -> bool:
        return self.random.random() < share
