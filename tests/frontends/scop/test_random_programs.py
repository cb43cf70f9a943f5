"""Random C functions against gcc: loops of all kinds, conditions, subscripts, types, operators."""

from __future__ import annotations

import random
from pathlib import Path

from polysched.frontends.scop import load_c
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import (
    assert_same_bits,
    called,
    compiled_by_gcc,
    compiled_by_polysched,
    needs_gcc,
    random_arguments,
)

LENGTH = 24
ARRAYS = {"d": "double", "f": "float", "k": "int", "s": "short", "u": "unsigned char", "q": "long"}
REALS = frozenset("df")
PARAMETERS = ", ".join(f"{kind} {name}[restrict {LENGTH}]" for name, kind in ARRAYS.items())


class Writer:
    """Writes one function; `names` are the loop variables in scope."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[str] = []
        self.only_integers = False

    def function(self, name: str) -> str:
        body = "".join(self.statement(2) for _ in range(self.random.randint(1, 2)))
        return f"void {name}(int n, int m, {PARAMETERS})\n{{\n{body}}}\n"

    def statement(self, depth: int) -> str:
        kind = self.random.random()
        if depth and kind < 0.55:
            return self.loop(depth)
        if depth and self.names and kind < 0.75:
            otherwise = f"else {{ {self.statement(depth - 1)} }}" if kind < 0.65 else ""
            return f"if ({self.condition()}) {{ {self.statement(depth - 1)} }} {otherwise}\n"
        array = self.random.choice(list(ARRAYS))
        operator = self.random.choice(["=", "=", "+=", "-=", "*="])
        # C leaves it undefined what an integer gets of a real number that does not fit it.
        self.only_integers = array not in REALS
        return f"{array}[{self.subscript()}] {operator} {self.value(3)};\n"

    def loop(self, depth: int) -> str:
        name = "ijl"[len(self.names)]
        low, high, step = self.affine(), self.affine(), self.random.randint(1, 3)
        header = self.random.choice(
            [
                f"int {name} = {low}; {name} < {high} + 7; {name} += {step}",
                f"int {name} = {low}; {name} <= {high} + 4 && {name} <= 9; {name}++",
                f"int {name} = {low} + 6; {name} > {high} - 5; {name} -= {step}",
                f"int {name} = {low} + 5; 2 * {name} >= {high}; {name}--",
            ]
        )
        self.names.append(name)
        body = "".join(self.statement(depth - 1) for _ in range(self.random.randint(1, 2)))
        self.names.pop()
        return f"for ({header}) {{\n{body}}}\n"

    def affine(self) -> str:
        terms = [str(self.random.randint(-3, 3))]
        terms += [
            f"{self.random.choice([1, 1, 2, -1])} * {name}"
            for name in [*self.names, "n", "m"]
            if self.random.random() < 0.4
        ]
        return f"({' + '.join(terms)})"

    def subscript(self) -> str:
        inner = self.affine()
        if self.random.random() < 0.4:
            inner = f"({inner} {self.random.choice(['/', '%'])} {self.random.choice([2, 3, -2])})"
        return f"({inner} % {LENGTH} + {LENGTH}) % {LENGTH}"

    def condition(self) -> str:
        relation = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        simple = f"{self.affine()} {relation} {self.affine()}"
        if self.random.random() < 0.3:
            return f"!({simple}) {self.random.choice(['&&', '||'])} {self.affine()} % 2"
        return simple

    def value(self, depth: int) -> str:
        kind = self.random.random()
        if not depth or kind < 0.3:
            return self.leaf()
        left, right = self.value(depth - 1), self.value(depth - 1)
        if kind < 0.75:
            return f"({left} {self.random.choice('+-*')} {right})"
        if kind < 0.85 and self.only_integers:
            divisor = self.random.choice(["3", "-4", "5u"])
            return f"((int)({left}) {self.random.choice('/%')} {divisor})"
        if kind < 0.93:
            relation = self.random.choice(["<", "<=", ">", "==", "!="])
            return f"({left} {relation} {right} ? {self.value(depth - 1)} : {self.leaf()})"
        if kind < 0.97 and self.names:
            return f"({self.condition()} ? {left} : {right})"
        return f"(({left}) > 1 && !({right} < 2))"

    def leaf(self) -> str:
        arrays = [name for name in ARRAYS if not (self.only_integers and name in REALS)]
        leaves = [f"{self.random.choice(arrays)}[{self.subscript()}]"] * 4
        leaves += ["3", "7u", "-2L", "n", *self.names]
        leaves += [] if self.only_integers else ["1.5", "0.1f"]
        return self.random.choice(leaves)


COUNT = 30
SIZES = ({"n": 3, "m": -2}, {"n": -1, "m": 5})


@needs_gcc
def test_random_functions_give_the_bits_of_gcc(tmp_path: Path) -> None:
    path = tmp_path / "random.c"
    functions = {f"f{seed}": Writer(seed).function(f"f{seed}") for seed in range(COUNT)}
    path.write_text("\n".join(functions.values()))
    theirs = compiled_by_gcc(path, tmp_path)
    for name, text in functions.items():
        program = load_c(path, name)
        function = program.c_function()
        mine = compiled_by_polysched(Schedule(program.kernel), function, tmp_path)
        for seed, sizes in enumerate(SIZES):
            given = random_arguments(program, function, sizes, seed)
            try:
                assert_same_bits(
                    called(mine, function, None, given), called(theirs, function, None, given)
                )
            except AssertionError as error:
                raise AssertionError(f"{sizes}:\n{text}") from error
