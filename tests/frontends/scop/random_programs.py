"""Random C functions in the language that is supported.

They are free of undefined behaviour by construction, but for one thing: signed overflow occurs, so
gcc has to be told `-fwrapv`. Real numbers are clamped before they become integers, divisors are
made positive or are literals, subscripts are brought into their range.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

LENGTH = 24
"""Elements of the arrays of one dimension."""
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
SIZES = (
    {"n": 6, "m": 9, "s0": 3, "s1": -2},
    {"n": 1, "m": 4, "s0": 0, "s1": 77},
    {"n": 9, "m": 3, "s0": 100, "s1": -1},
)
"""Numbers to call the functions with: `n` and `m` are at least 1."""

_HEAD = """\
#include <math.h>
#include <stdlib.h>
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
"""
_INTEGER_LITERALS = (
    "0 1 2 3 7u -2L 5ul 0x1F 017 'a' 100 255 -128 32767 65536 2147483647 4294967295u 2147483648 "
    "-2147483648 0x80000000 9007199254740993 -1"
).split()
_REAL_LITERALS = (
    "1.5 0.1f .5 5. 1e-3 0x1p-2 2.5e1f -0.0 1e10 16777217.0f 0.30000000000000004".split()
)
_UNARY = "sqrt fabs floor ceil trunc sqrtf fabsf floorf ceilf truncf sin cosf cbrt tanhf".split()
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
class Writer:
    """Writes functions; every choice comes from `random`."""

    random: random.Random
    arrays: list[Array] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    counters: list[Counter] = field(default_factory=list)
    fresh: int = 0
    counts_outside: bool = False

    # -- functions -------------------------------------------------------------------------------

    def function(self, name: str) -> str:
        """The text of a function over the sizes `n` and `m`."""
        self.arrays, self.numbers, self.constants, self.counters = [], {}, {}, []
        self.counts_outside = self.chance(0.25)
        kinds = [*["int"] * 6, "long", "short", "unsigned", "size_t", "unsigned char"]
        sizes = {one: self.pick(kinds) for one in "nm"}
        self.constants.update(sizes)
        parameters = [f"{kind} {one}" for one, kind in sizes.items()]
        pragmas = ["#pragma polysched assume n >= 1 && m >= 1 && n < 100 && m < 100"]
        for number in range(self.random.randint(2, 5)):
            array = self.array(f"a{number}")
            self.arrays.append(array)
            const = "const " if array.is_const else ""
            if array.is_flat:
                parameters.append(f"{const}{array.type} *restrict {array.name}")
                shape = "".join(f"[{one}]" for one in array.extents)
                pragmas.append(f"#pragma polysched shape {array.name}{shape}")
            else:
                first, *others = array.extents
                rest = "".join(f"[{one}]" for one in others)
                parameters.append(f"{const}{array.type} {array.name}[restrict {first}]{rest}")
        for number in range(self.random.randint(0, 2)):
            kind = self.pick([*REALS, *INTEGERS, "_Bool"])
            parameters.append(f"{kind} s{number}")
            self.numbers[f"s{number}"] = kind
        if self.chance(0.3):
            kind = self.pick([*REALS, *INTEGERS])
            parameters.append(f"{kind} *restrict p")
            self.numbers["(*p)"] = kind
        result = self.pick(["void", "void", *REALS, *INTEGERS])
        body = [self.local() for _ in range(self.random.randint(0, 3))]
        body += [self.statement(3) for _ in range(self.random.randint(1, 3))]
        if result != "void":
            body.append(f"return {self.fitting(result, 2)};\n")
        head = "".join(f"{one}\n" for one in pragmas)
        if self.counts_outside:
            head += "int i, j, k, l;\n"
        return f"{result} {name}({', '.join(parameters)})\n{{\n{head}{''.join(body)}}}\n"

    def array(self, name: str) -> Array:
        kind = self.pick([*REALS, *REALS, *INTEGERS, "_Bool"])
        const = self.chance(0.15)
        shape = self.random.random()
        if shape < 0.5:
            return Array(name, kind, (str(LENGTH),), is_const=const)
        if shape < 0.65:
            return Array(name, kind, (self.pick(["n", "m"]),), is_const=const)
        extents = tuple(self.pick(["n", "m", "4"]) for _ in range(self.random.randint(2, 3)))
        return Array(name, kind, extents, is_flat=shape > 0.85, is_const=const)

    def local(self) -> str:
        """A declaration of a number or of an array with its first values."""
        self.fresh += 1
        name, kind = f"t{self.fresh}", self.pick([*REALS, *INTEGERS])
        choice = self.random.random()
        if choice < 0.3:
            text = f"const {self.pick(['int', 'long'])} {name} = {self.affine(1)};\n"
            self.constants[name] = "int"
            return text
        if choice < 0.8:
            text = f"{kind} {name} = {self.fitting(kind, 2)};\n"
            self.numbers[name] = kind
            return text
        value = self.fitting(kind, 1)
        self.arrays.append(Array(name, kind, (str(LENGTH),)))
        loop = f"for (int z = 0; z < {LENGTH}; z++) {name}[z] = {value};"
        return f"{kind} {name}[{LENGTH}];\n{loop}\n"

    # -- statements ------------------------------------------------------------------------------

    def statement(self, depth: int) -> str:
        choice = self.random.random()
        if depth and choice < 0.5:
            return self.loop(depth)
        if depth and choice < 0.62:
            return self.branch(depth)
        if depth and choice < 0.7:
            return self.block(depth, declares=True)
        return self.assignment()

    def block(self, depth: int, *, declares: bool = False) -> str:
        """Statements in braces; what they declare ends with them."""
        kept = list(self.arrays), dict(self.numbers), dict(self.constants)
        lines = [self.local()] if declares or self.chance(0.25) else []
        lines += [self.statement(depth - 1) for _ in range(self.random.randint(1, 2))]
        self.arrays, self.numbers, self.constants = kept
        return f"{{\n{''.join(lines)}}}\n"

    def branch(self, depth: int) -> str:
        condition = self.condition(2)
        text = f"if ({condition}) {self.block(depth)}"
        if self.chance(0.5):
            other = self.branch(depth - 1) if depth > 1 and self.chance(0.3) else self.block(depth)
            text += f"else {other}"
        return text

    def loop(self, depth: int) -> str:
        name = f"{'ijkl'[len(self.counters)]}"
        header, counter = self.sized(name) if self.chance(0.55) else self.any_loop(name)
        self.counters.append(counter)
        if self.counts_outside and header.startswith("int "):
            header = header.removeprefix("int ")
        body = self.block(depth) if self.chance(0.8) else self.statement(depth - 1)
        self.counters.pop()
        return f"for ({header})\n{body}"

    def sized(self, name: str) -> tuple[str, Counter]:
        """A loop within 0 and a size, by which arrays may be subscripted."""
        size = self.pick(["n", "m", "4"])
        low = self.pick(["0", "0", "0", "1"])
        inner = [one for one in self.counters if one.size == size]
        if inner and self.chance(0.5):
            low = self.pick(inner).name
        unsigned = "unsigned" if size == "4" and low in "01" else "long"
        kind = self.pick(["int", "int", "int", unsigned])
        step = self.random.randint(1, 3)
        up = [
            f"{kind} {name} = {low}; {name} < {size}; {self.increased(name, step)}",
            f"{kind} {name} = {low}; {name} <= {size} - 1; {self.increased(name, step)}",
            f"{kind} {name} = {low}; {size} > {name}; {self.increased(name, step)}",
        ]
        low = "0" if kind == "unsigned" else low
        down = [
            f"{kind} {name} = {size} - 1; {name} >= {low}; {self.decreased(name, step)}",
            f"{kind} {name} = {size} - 1; {name} > {low}; {self.decreased(name, step)}",
            f"{kind} {name} = {size} - 1; {low} <= {name}; {self.decreased(name, step)}",
        ]
        signed = [*up, *down]
        return self.pick(up if kind == "unsigned" else signed), Counter(name, kind, size)

    def any_loop(self, name: str) -> tuple[str, Counter]:
        low, high, step = self.affine(2), self.affine(2), self.random.randint(1, 4)
        kind = self.pick(["int", "int", "long", "short", "signed char"])
        if kind in ("short", "signed char"):
            low, high = self.pick(["0", "-3", "2"]), self.pick(["5", "9", "-1", "(n % 5)"])
        add, take = self.increased(name, step), self.decreased(name, step)
        header = self.pick(
            [
                f"{name} = {low}; {name} < {high} + 7; {add}",
                f"{name} = {low}; {name} <= {high} + 4 && {name} <= 9; {add}",
                f"{name} = {low}; {name} < MIN({high} + 6, 8) && n < 8; {add}",
                f"{name} = MAX({low}, -4); 3 * {name} < {high} + 9; {add}",
                f"{name} = {low}; {high} - {name} > -5; {add}",
                f"{name} = {low} + 6; {name} > {high} - 5; {take}",
                f"{name} = {low} + 5; 2 * {name} >= {high}; {take}",
                f"{name} = {low} + 5; {name} >= {high} && {name} > -9; {take}",
                f"{name} = MIN({low}, 9); MAX({high}, -7) <= {name}; {take}",
                f"{name} = 0; {name} != 5; {name}++",
            ]
        )
        return f"{kind} {header}", Counter(name, kind)

    def increased(self, name: str, step: int) -> str:
        options = [f"{name} += {step}", f"{name} = {name} + {step}", f"{name} -= -{step}"]
        return self.pick([*options, f"{name}++", f"++{name}"] if step == 1 else options)

    def decreased(self, name: str, step: int) -> str:
        options = [f"{name} -= {step}", f"{name} = {name} - {step}", f"{name} += -{step}"]
        return self.pick([*options, f"{name}--", f"--{name}"] if step == 1 else options)

    def assignment(self) -> str:
        target, kind = self.target()
        choice = self.random.random()
        if choice < 0.4:
            return f"{target} = {self.fitting(kind, 3)};\n"
        if choice < 0.5 and kind != "_Bool":
            operator = self.pick(["++", "--"])
            return self.pick([f"{target}{operator};\n", f"{operator}{target};\n"])
        if choice < 0.58:
            other, middle = self.target()
            value = self.fitting(middle, 2)
            if kind in REALS or middle not in REALS:
                own, inner = "=", "="
                if target.partition("[")[0] != other.partition("[")[0]:
                    own, inner = self.pick(["=", "+=", "-="]), self.pick(["=", "+=", "*="])
                return f"{target} {own} {other} {inner} {value};\n"
        if kind in REALS:
            return f"{target} {self.pick(['+=', '-=', '*=', '/='])} {self.value(3).text};\n"
        whole = self.integer(2)
        operator = self.pick(["+=", "-=", "*=", "/=", "%=", "<<=", ">>="])
        if operator in ("/=", "%="):
            whole = f"({whole} > 0 ? {whole} : 3)"
        if operator in ("<<=", ">>="):
            whole = str(self.random.randint(0, 6))
        return f"{target} {operator} {whole};\n"

    def target(self) -> tuple[str, str]:
        """What may be assigned to, and its type."""
        writable = [one for one in self.arrays if not one.is_const]
        if self.numbers and (not writable or self.chance(0.25)):
            name = self.pick(list(self.numbers))
            return name, self.numbers[name]
        if not writable:
            self.arrays[0] = Array("a0", self.arrays[0].type, self.arrays[0].extents)
            return self.target()
        array = self.pick(writable)
        return self.element(array), array.type

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
            return f"({text} {self.pick(['>> 1', '<< 1'])})"
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
        if choice < 0.72:
            operator, amount = self.pick(["<<", ">>"]), self.random.randint(0, 9)
            return Typed(f"({self.integer(depth - 1)} {operator} {amount})", is_real=False)
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


def random_file(seeds: range) -> dict[str, str]:
    """A function for each seed, by name."""
    return {f"f{seed}": Writer(random.Random(seed)).function(f"f{seed}") for seed in seeds}


def file_text(functions: dict[str, str]) -> str:
    """The text of a file with functions."""
    return "\n".join((_HEAD, *functions.values()))
