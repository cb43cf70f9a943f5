"""Random Python functions over arrays of all types, to be run by Python and as kernels.

Types go together as numpy asks: what differs is converted. Subscripts stay inside of arrays of at
least 12 x 12 elements, real numbers are brought into range before they become integers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from polysched.ir.expr.dtypes import FLOAT_DTYPES, INTEGER_DTYPES

INTEGERS = tuple(sorted(map(str, INTEGER_DTYPES), key=lambda name: (int(name[1:]), name)))
REALS = tuple(map(str, FLOAT_DTYPES))
NUMPY = {
    "f32": "np.float32",
    "f64": "np.float64",
    **{name: f"np.{'u' if name[0] == 'u' else ''}int{name[1:]}" for name in INTEGERS},
}
_LINE = "    "
_ROOTS = {
    "f32": "np.sqrt np.fabs np.floor np.ceil np.trunc np.rint abs".split(),
    "f64": "np.sqrt np.fabs np.floor np.ceil np.trunc np.rint abs".split(),
}


@dataclass
class Writer:
    """Writes functions named `made`; every choice comes from `random`.

    Values are of a kind: a type of numpy's, or Python's own "int" and "float".
    """

    random: random.Random
    arrays: dict[str, tuple[str, int]] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    indices: list[str] = field(default_factory=list)

    def function(self) -> str:
        arguments = []
        for number in range(self.random.randint(2, 4)):
            name, rank = f"a{number}", self.random.randint(1, 2)
            kind = self.pick([*REALS, *REALS, *INTEGERS, "bool"])
            self.arrays[name] = (kind, rank)
            arguments.append(f'{name}: "{kind}[{", ".join("nm"[:rank])}]"')
        if self.chance(0.4):
            kind = self.pick([*REALS, *INTEGERS])
            self.numbers["s0"] = kind
            arguments.append(f's0: "{kind}"')
        body = ["n = a0.shape[0]", "assert 12 <= n <= 13"]
        planes = [name for name, (_, rank) in self.arrays.items() if rank == 2]
        if planes:
            body += [f"m = {planes[0]}.shape[1]", "assert m >= 12"]
        for _ in range(self.random.randint(0, 3)):
            body += self.local()
        writable = dict(self.numbers)
        writable.pop("s0", None)
        for _ in range(self.random.randint(2, 4)):
            body += self.statement(0)
        for name in writable:
            body += self.kept(name)
        made = [name for name in self.arrays if name.startswith("b")]
        if made:
            body.append(f"return {', '.join(made)}")
        lines = "\n".join(_LINE + line for line in body)
        return f"def made({', '.join(arguments)}):\n{lines}\n"

    def local(self) -> list[str]:
        """A local number, or a local array."""
        name = f"t{len(self.numbers)}"
        if self.chance(0.25):
            name, kind = f"b{len(self.arrays)}", self.pick([*REALS, *INTEGERS])
            maker = self.pick(["np.zeros", "np.ones"])
            self.arrays[name] = (kind, 1)
            return [f"{name} = {maker}(n, {NUMPY[kind]})"]
        kind = self.pick([*REALS, *INTEGERS, "int", "float"])
        lines = [f"{name} = {self.value(kind, 1)}"]
        self.numbers[name] = kind
        return lines

    def kept(self, name: str) -> list[str]:
        """A statement that stores a local number where the caller sees it."""
        kind = self.numbers[name]
        if kind in ("int", "float"):
            kind = "f64" if kind == "float" else "i64"
        for array, (own, rank) in self.arrays.items():
            if own == kind:
                return [f"{array}[{', '.join(['2', '1'][:rank])}] = {name}"]
        return []

    # -- statements ------------------------------------------------------------------------------

    def statement(self, depth: int) -> list[str]:
        choice = self.random.random()
        if depth < 3 and choice < 0.4:
            return self.loop(depth)
        if depth < 3 and choice < 0.58:
            return self.branch(depth)
        return self.assignment()

    def block(self, depth: int) -> list[str]:
        lines = [line for _ in range(self.random.randint(1, 2)) for line in self.statement(depth)]
        return [_LINE + line for line in lines]

    def loop(self, depth: int) -> list[str]:
        if self.chance(0.15) and len(self.indices) < 2:
            names = [f"i{len(self.indices)}", f"i{len(self.indices) + 1}"]
            header = self.pick(
                [
                    f"for {', '.join(names)} in np.ndindex(3, 4):",
                    f"for {', '.join(names)} in itertools.product(range(4), range(1, 5, 2)):",
                ]
            )
        else:
            names = [f"i{len(self.indices)}"]
            end = self.pick(["6", "5", "n - 7", *(f"{one} + 1" for one in self.indices)])
            bounds = [
                end,
                f"1, {end}",
                f"0, {end}, 2",
                f"{end} - 1, -1, -1",
                "5, 0, -2",
                "5, -1, -3",
            ]
            header = f"for {names[0]} in range({self.pick(bounds)}):"
        self.indices += names
        body = self.block(depth + 1)
        del self.indices[-len(names) :]
        return [header, *body]

    def branch(self, depth: int) -> list[str]:
        tests = [self.affine_test() if self.chance(0.4) else self.test(2) for _ in range(2)]
        lines = [f"if {tests[0]}:", *self.block(depth + 1)]
        if self.chance(0.3):
            lines += [f"elif {tests[1]}:", *self.block(depth + 1)]
        if self.chance(0.5):
            lines += ["else:", *self.block(depth + 1)]
        return lines

    def assignment(self) -> list[str]:
        if self.numbers and self.chance(0.3):
            name = self.pick(list(self.numbers))
            if name != "s0":
                return [f"{name} = {self.value(self.numbers[name], 2)}"]
        name = self.pick(list(self.arrays))
        kind = self.arrays[name][0]
        target = self.element(name)
        if kind == "bool":
            return [f"{target} = {self.test(2)}"]
        if self.chance(0.4):
            operators = ["+=", "-=", "*=", *(["/="] if kind in REALS else ["//=", "%="])]
            return [f"{target} {self.pick(operators)} {self.mixed(kind, 2)}"]
        return [f"{target} = {self.mixed(kind, 3)}"]

    # -- values ----------------------------------------------------------------------------------

    def mixed(self, kind: str, depth: int) -> str:
        """A value that may be stored in a type: of that type, or one of Python's that fits."""
        choice = self.random.random()
        if choice < 0.12:
            return self.pick(["1", "2", "3", *self.indices])
        if choice < 0.2 and kind in REALS:
            return self.value("float", depth)
        return self.value(kind, depth)

    def value(self, kind: str, depth: int) -> str:
        if kind == "int":
            return self.whole(depth)
        if kind == "float":
            return self.real(depth)
        choice = self.random.random()
        if not depth or choice < 0.15:
            return self.leaf(kind)
        if choice < 0.5:
            left, right = self.value(kind, depth - 1), self.mixed(kind, depth - 1)
            if self.chance(0.3):
                left, right = right, left
            if not self.is_strong(left) and not self.is_strong(right):
                right = self.leaf(kind)
            operators = ["+", "-", "*", *(["/"] if kind in REALS else ["//", "%"])]
            return f"({left} {self.pick(operators)} {right})"
        if choice < 0.6:
            return self.applied(kind, depth)
        if choice < 0.7:
            sides = self.value(kind, depth - 1), self.value(kind, depth - 1)
            return f"({sides[0]} if {self.test(depth - 1)} else {sides[1]})"
        if choice < 0.78:
            names = ["min", "max", "np.minimum", "np.maximum"]
            name = self.pick(names)
            text = f"{name}({self.value(kind, depth - 1)}, {self.value(kind, depth - 1)})"
            return self.without_sign(text, kind)
        if choice < 0.83 and kind == "f64":
            narrow = self.pick(["i32", "i64", "u8", "i16"])
            return f"({self.value(narrow, depth - 1)} / {self.leaf(narrow)})"
        return self.converted(kind, depth)

    def is_strong(self, text: str) -> bool:
        return not text.isidentifier() and not text.isdigit()

    def converted(self, kind: str, depth: int) -> str:
        other = self.pick([*REALS, *INTEGERS])
        text = self.value(other, depth - 1)
        if other in REALS and kind not in REALS:
            low = "0.0" if kind[0] == "u" else "-100.0"
            text = f"np.fmin(np.fmax({text}, {low}), 100.0)"
        return f"{NUMPY[kind]}({text})"

    def applied(self, kind: str, depth: int) -> str:
        inner = self.value(kind, depth - 1)
        if kind in REALS:
            two = f"{self.pick(['np.fmod', 'np.fmin', 'np.fmax'])}({inner}, {self.leaf(kind)})"
            two = self.without_sign(two, kind)
            return self.pick([f"{self.pick(_ROOTS[kind])}({inner})", f"(-{inner})", two])
        two = f"{self.pick(['np.fmin', 'np.fmax'])}({inner}, {self.leaf(kind)})"
        return self.pick([f"abs({inner})", f"(-{inner})", f"np.floor({inner})", two])

    def without_sign(self, text: str, kind: str) -> str:
        """A value that is no negative zero: of two zeros numpy's extrema give either one."""
        return f"({text} + {NUMPY[kind]}(0))" if kind in REALS else text

    def leaf(self, kind: str) -> str:
        found = [name for name, (own, _) in self.arrays.items() if own == kind]
        numbers = [name for name, own in self.numbers.items() if own == kind]
        choices = [*found, *found, *numbers]
        if not choices or self.chance(0.1):
            literal = self.pick(["0", "1", "3", "100"])
            literal = self.pick(["0.1", "-2.5", "3", "1e10", "-0.0"]) if kind in REALS else literal
            return f"{NUMPY[kind]}({literal})"
        name = self.pick(choices)
        return self.element(name) if name in self.arrays else f"{NUMPY[kind]}({name})"

    def whole(self, depth: int) -> str:
        """A Python integer, never a large one."""
        choice = self.random.random()
        own = [name for name, kind in self.numbers.items() if kind == "int"]
        if not depth or choice < 0.4:
            return self.pick(["1", "2", "-3", "7", "n", *self.indices, *own])
        if choice < 0.7:
            text = f"{self.whole(depth - 1)} {self.pick('+-*')} {self.whole(depth - 1)}"
            return f"(({text}) % 97)"
        if choice < 0.8:
            divisor = self.pick(["2", "3", "-4"])
            return f"({self.whole(depth - 1)} {self.pick(['//', '%'])} {divisor})"
        if choice < 0.9:
            return f"(int({self.value(self.pick(['i8', 'u16', 'i32']), depth - 1)}) % 50)"
        name = self.pick(["min", "max"])
        return f"{name}({self.whole(depth - 1)}, {self.whole(depth - 1)})"

    def real(self, depth: int) -> str:
        """A float of Python's own."""
        choice = self.random.random()
        own = [name for name, kind in self.numbers.items() if kind == "float"]
        if not depth or choice < 0.3:
            return self.pick(["0.5", "-1.25", "0.1", "3.0", *own])
        if choice < 0.6:
            return f"({self.real(depth - 1)} {self.pick('+-*')} {self.real(depth - 1)})"
        if choice < 0.7:
            return f"({self.whole(depth - 1)} / 3)"
        if choice < 0.85:
            kind = self.pick(["f32", "f64", "i32", "u8"])
            return f"float({self.value(kind, depth - 1)})"
        return f"math.fabs({self.real(depth - 1)})"

    def test(self, depth: int) -> str:
        choice = self.random.random()
        flags = [name for name, (kind, _) in self.arrays.items() if kind == "bool"]
        if flags and choice < 0.15:
            return self.element(self.pick(flags))
        if depth and choice < 0.3:
            return f"({self.test(depth - 1)} {self.pick(['and', 'or'])} {self.test(depth - 1)})"
        if depth and choice < 0.38:
            return f"(not {self.test(depth - 1)})"
        kind = self.pick([*REALS, *INTEGERS, "int", "float"])
        sides = [self.value(kind, max(depth - 1, 0)) for _ in range(3)]
        if kind in INTEGERS and self.chance(0.5):
            sides[1] = self.pick(["-1", "300", "70000", "n", *(f"{i} - 3" for i in self.indices)])
        relations = [self.pick(["<", "<=", ">", ">=", "==", "!="]) for _ in range(2)]
        if self.chance(0.2):
            return f"({sides[0]} {relations[0]} {sides[1]} {relations[1]} {sides[2]})"
        return f"({sides[0]} {relations[0]} {sides[1]})"

    # -- what is affine --------------------------------------------------------------------------

    def element(self, name: str) -> str:
        rank = self.arrays[name][1]
        parts = [self.subscript() for _ in range(rank)]
        if rank == 2 and self.chance(0.2):
            return f"{name}[{parts[0]}][{parts[1]}]"
        return f"{name}[{', '.join(parts)}]"

    def subscript(self) -> str:
        """Within 0 and 6, for all indices below 6."""
        parts = ["3", "0", "-2"]
        for one in self.indices:
            parts += [one, one, f"{one} + 1", f"5 - {one}", f"min({one}, 4)", f"{one} // 2"]
            parts += [f"({one} * 3) % 5", f"max(2, {one})", f"abs({one} - 4)"]
        return self.pick(parts)

    def affine_test(self) -> str:
        parts = ["n > 11", "n % 2 == 0"]
        for one in self.indices:
            parts += [f"{one} < 3", f"{one} % 2 == 0", f"1 <= {one} < 4 or {one} == 5"]
            parts += [f"not {one} == 2", f"{one} != n - 9 and {one} > 0"]
        return self.pick(parts)

    def pick(self, options: list[str] | str) -> str:
        return self.random.choice(options)

    def chance(self, share: float) -> bool:
        return self.random.random() < share
