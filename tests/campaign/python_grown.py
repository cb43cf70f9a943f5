"""Random Python functions over numpy arrays, written as text.

The grammar mixes values that numpy and Python type differently: literals, loop indices, sizes,
module constants of Python's and numpy's types, array elements, local numbers, numpy's functions of
each. The frontend refuses many of these functions; those that compile must give CPython's values.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

INTEGERS = "i8 i16 i32 i64 u8 u16 u32 u64".split()
FLOATS = ["f32", "f64"]
NUMPY = {
    **{f"i{bits}": f"np.int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"np.uint{bits}" for bits in (8, 16, 32, 64)},
    "f32": "np.float32",
    "f64": "np.float64",
}
CONSTANTS = {
    "K_INT": "5",
    "K_BIG": "2**40 + 3",
    "K_FLOAT": "0.1",
    "K_BOOL": "True",
    "K_I8": "np.int8(-7)",
    "K_I16": "np.int16(300)",
    "K_I32": "np.int32(-70000)",
    "K_I64": "np.int64(2**33)",
    "K_U8": "np.uint8(200)",
    "K_U16": "np.uint16(60000)",
    "K_U32": "np.uint32(4000000000)",
    "K_U64": "np.uint64(2**63)",
    "K_F32": "np.float32(0.1)",
    "K_F64": "np.float64(0.1)",
    "K_NPBOOL": "np.bool_(True)",
}
HEADER = "import math\n\nimport numpy as np\n\n" + "".join(
    f"{name} = {value}\n" for name, value in CONSTANTS.items()
)
SMALL = [0, 1, 2, 3, 5, 7, 10, -1, -3, 100]
LARGE = [
    127,
    128,
    255,
    256,
    1000,
    65535,
    2**31 - 1,
    2**31,
    2**32,
    10**10,
    2**40,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
]
UNARY = {
    "i": "abs np.abs np.square np.negative np.sign np.invert round np.floor int".split(),
    "f": "abs np.abs np.sqrt np.square np.floor np.ceil np.negative np.trunc np.rint math.sqrt "
    "math.fabs np.fabs".split(),
}
BINARY = {
    "i": "min max np.minimum np.maximum np.add np.multiply np.floor_divide np.remainder "
    "np.bitwise_and np.left_shift".split(),
    "f": "min max np.minimum np.maximum np.add np.subtract np.divide np.fmin np.fmax".split(),
}
REALS = ["0.0", "0.5", "1.0", "-1.5", "2.0", "0.1", "1e10", "1e-3", "3.5", "1e39", "1e300"]


@dataclass(frozen=True)
class Argument:
    """An array: its name, element type and the names of its extents."""

    name: str
    dtype: str
    extents: tuple[str, ...]

    @property
    def annotation(self) -> str:
        """As polysched reads it."""
        return f"{self.dtype}[{', '.join(self.extents)}]" if self.extents else self.dtype


@dataclass(frozen=True)
class Function:
    """A function as text, and the arrays that it takes, in order."""

    name: str
    text: str
    arguments: tuple[Argument, ...]
    least: int

    @property
    def module(self) -> str:
        """A module that holds it."""
        return f"{HEADER}\n\n{self.text}"


@dataclass(frozen=True)
class _Loop:
    """A loop variable and what is known of it: ``low <= variable < extent - high``."""

    variable: str
    extent: str
    low: int
    high: int


@dataclass
class _Writer:
    random: random.Random
    arrays: list[Argument]
    sizes: list[str]
    least: int
    loops: list[_Loop] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    # -- expressions -----------------------------------------------------------------------------

    def subscript(self, extent: str) -> str | None:
        """An index within an extent, or None where nothing surely is."""
        fitting = [loop for loop in self.loops if loop.extent == extent]
        if fitting and self.random.random() < 0.93:
            loop = self.random.choice(fitting)
            if self.random.random() < 0.15:
                return f"{extent} - 1 - {loop.variable}"
            offset = self.random.randint(-loop.low, loop.high)
            return (
                loop.variable
                if not offset
                else f"{loop.variable} {'+' if offset > 0 else '-'} {abs(offset)}"
            )
        if self.least:
            return self.random.choice(["0", f"{extent} - 1", str(self.least - 1)])
        return None

    def element(self, *, written: bool = False) -> tuple[str, Argument] | None:
        """An element of an array, with its array."""
        array = self.random.choice(self.arrays)
        if not array.extents:
            return None if written else (array.name, array)
        at = [self.subscript(extent) for extent in array.extents]
        if None in at:
            return None
        return f"{array.name}[{', '.join(map(str, at))}]", array

    def leaf(self, kind: str) -> str:
        """A leaf of a kind: ``i`` is integers, ``f`` is real numbers; sometimes of the other."""
        if self.random.random() < 0.06:
            kind = "f"
        draw = self.random.random()
        if draw < 0.45:
            for _ in range(4):
                found = self.element()
                if found and (kind == "f" or found[1].dtype in INTEGERS):
                    return found[0]
        if draw < 0.56 and self.loops:
            return self.random.choice(self.loops).variable
        if draw < 0.60:
            return self.random.choice(self.sizes)
        if draw < 0.68:
            fitting = [name for name in self.numbers if kind == "f" or name.startswith("c")]
            if fitting:
                return self.random.choice(fitting)
        if draw < 0.78:
            whole = [name for name in CONSTANTS if name not in ("K_FLOAT", "K_F32", "K_F64")]
            return self.random.choice(whole if kind == "i" else [*CONSTANTS])
        if draw < 0.93 and (kind == "i" or self.random.random() < 0.5):
            return str(self.random.choice(SMALL if self.random.random() < 0.85 else LARGE))
        if kind == "f":
            return self.random.choice(REALS if self.random.random() < 0.2 else REALS[:7])
        return self.random.choice(["True", "False", "2", "3", "4"])

    def condition(self, depth: int) -> str:
        """A truth value."""
        draw = self.random.random()
        if depth > 0 and draw < 0.15:
            joined = self.random.choice(["and", "or"])
            return f"({self.condition(depth - 1)} {joined} {self.condition(depth - 1)})"
        if depth > 0 and draw < 0.2:
            return f"(not {self.condition(depth - 1)})"
        if draw < 0.23:
            return self.leaf("i")
        kind = self.random.choice("if")
        sign = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"({self.value(depth - 1, kind)} {sign} {self.value(depth - 1, kind)})"

    def value(self, depth: int, kind: str) -> str:
        """An expression of a kind, as :meth:`leaf` has it."""
        draw = self.random.random()
        if depth <= 0 or draw < 0.12:
            return self.leaf(kind)

        def one() -> str:
            return self.value(depth - 1, kind)

        if draw < 0.56:
            signs = (
                "+ - * + - * // % & | ^" if kind == "i" else "+ - * + - * + - * + - * / / / // %"
            )
            return f"({one()} {self.random.choice(signs.split())} {one()})"
        if draw < 0.60:
            if kind == "i":
                sign = self.random.choice(["<<", ">>"])
                return (
                    f"({one()} {sign} {self.random.choice([0, 1, 2, 3, 7, 8, 31, 33, 63, 64, -1])})"
                )
            return f"({one()} ** {self.random.choice([0, 1, 2, 2, 0.5])})"
        if draw < 0.66:
            return f"({self.random.choice('-+~' if kind == 'i' else '-+')}{one()})"
        if draw < 0.72:
            return f"({one()} if {self.condition(depth - 1)} else {one()})"
        if draw < 0.79:
            return f"np.where({self.condition(depth - 1)}, {one()}, {one()})"
        if draw < 0.88:
            whole = ["int", *(NUMPY[name] for name in INTEGERS)]
            called = self.random.choice(
                whole if kind == "i" else ["float", "float", *NUMPY.values()]
            )
            given = self.random.choice("if") if called == "float" else kind
            return f"{called}({self.value(depth - 1, given)})"
        if draw < 0.93:
            return f"{self.random.choice(UNARY[kind])}({one()})"
        return f"{self.random.choice(BINARY[kind])}({one()}, {one()})"

    # -- statements ------------------------------------------------------------------------------

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def store(self, indent: int) -> None:
        found = self.element(written=True)
        if found is None:
            self.line(indent, "pass")
            return
        place, array = found
        kind = "i" if array.dtype in INTEGERS else "f"
        value = self.value(self.random.choice([1, 1, 2, 2, 2, 3]), kind)
        if self.random.random() < 0.5:
            value = f"{NUMPY[array.dtype]}({value})"
        signs = "+= -= *= //= %= &= |= ^= >>=" if kind == "i" else "+= -= *= /="
        sign = "=" if self.random.random() < 0.6 else self.random.choice(signs.split())
        self.line(indent, f"{place} {sign} {value}")

    def number(self, indent: int) -> None:
        if self.numbers and self.random.random() < 0.5:
            name = self.random.choice(self.numbers)
            sign = self.random.choice("+= += -= *= =".split())
            self.line(indent, f"{name} {sign} {self.value(2, 'i' if name[0] == 'c' else 'f')}")
            return
        kind = self.random.choice("if")
        name = f"{'c' if kind == 'i' else 't'}{len(self.numbers)}"
        start = self.value(2, kind) if self.random.random() < 0.6 else {"i": "0", "f": "0.0"}[kind]
        self.line(indent, f"{name} = {start}")
        self.numbers.append(name)

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.random.choice([1, 1, 2, 3])):
            draw = self.random.random()
            if draw < 0.3 and depth < 2:
                self.loop(indent, depth)
            elif draw < 0.5:
                self.number(indent)
            elif draw < 0.62:
                known = [*self.numbers]
                self.line(indent, f"if {self.condition(2)}:")
                self.store(indent + 1)
                if self.random.random() < 0.5:
                    self.line(indent, "else:")
                    self.store(indent + 1)
                self.numbers = known
            else:
                self.store(indent)

    def loop(self, indent: int, depth: int) -> None:
        variable = "ijk"[len(self.loops)]
        extent = self.random.choice([s for s in self.sizes if s in ("n", "m")])
        low, high = 0, 0
        draw = self.random.random()
        if draw < 0.45:
            ends = extent
        elif draw < 0.65:
            low, high = self.random.randint(0, 2), self.random.randint(0, 2)
            ends = f"{low}, {extent} - {high}"
        elif draw < 0.75:
            ends = f"{extent} - 1, -1, -1"
        elif draw < 0.85:
            ends = f"0, {extent}, {self.random.choice([2, 3])}"
        else:
            outer = [one for one in self.loops if one.extent == extent]
            ends = f"{outer[-1].variable}, {extent}" if outer else f"1, {extent}"
            low = 0 if outer else 1
        self.line(indent, f"for {variable} in range({ends}):")
        known, place = [*self.numbers], len(self.lines)
        self.loops.append(_Loop(variable, extent, low, high))
        self.block(indent + 1, depth + 1)
        self.loops.pop()
        if self.random.random() < 0.8:
            self.numbers = known
        if not any("[" in line.partition("=")[0] for line in self.lines[place:]):
            self.loops.append(_Loop(variable, extent, low, high))
            self.store(indent + 1)
            self.loops.pop()


def grown_function(seed: int, name: str = "f") -> Function:
    """The function of a seed."""
    chooser = random.Random(seed)
    dtypes = INTEGERS + FLOATS * 3
    shapes = [("n",), ("n",), ("n",), ("n", "m"), ("m",), ()]
    arrays = [Argument("A", chooser.choice(dtypes), chooser.choice([("n",), ("n", "m")]))]
    arrays += [
        Argument(letter, chooser.choice(dtypes), chooser.choice(shapes))
        for letter in "BCD"[: chooser.choice([1, 2, 2, 3])]
    ]
    least = chooser.choice([0, 0, 1, 3])
    sizes = sorted({extent for array in arrays for extent in array.extents})
    writer = _Writer(chooser, arrays, sizes, least)
    taken = ", ".join(f'{array.name}: "{array.annotation}"' for array in arrays)
    writer.line(0, f"def {name}({taken}):")
    for size in sizes:
        owner = next(array for array in arrays if size in array.extents)
        writer.line(1, f"{size} = {owner.name}.shape[{owner.extents.index(size)}]")
        if least:
            writer.line(1, f"assert {size} >= {least}")
    if chooser.random() < 0.5:
        writer.number(1)
    writer.loop(1, 0)
    if chooser.random() < 0.4:
        writer.loop(1, 0)
    draw = chooser.random()
    if draw < 0.1 and writer.numbers:
        writer.line(1, f"return {chooser.choice(writer.numbers)}")
    elif draw < 0.15:
        writer.line(1, "return A")
    return Function(name, "\n".join(writer.lines) + "\n", tuple(arrays), least)
