"""Random C functions in the language that is supported.

They are free of undefined behavior by construction, but for one thing: signed overflow occurs, so
gcc has to be told `-fwrapv`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.frontends.scop.random_expressions import INTEGERS, REALS, Array, Counter, Expressions

LENGTH = 24
"""Elements of the arrays of one dimension."""
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


@dataclass
class Writer(Expressions):
    """Writes functions."""

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
        if self.chance(0.4):
            condition = self.test(2)
            if self.chance(0.4):
                parts = [condition, self.condition(1)]
                self.random.shuffle(parts)
                condition = self.pick(["&&", "||"]).join(parts)
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
        operator = self.pick(["+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="])
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


def random_file(seeds: range) -> dict[str, str]:
    """A function for each seed, by name."""
    return {f"f{seed}": Writer(random.Random(seed)).function(f"f{seed}") for seed in seeds}


def file_text(functions: dict[str, str]) -> str:
    """The text of a file with functions."""
    return "\n".join((_HEAD, *functions.values()))
