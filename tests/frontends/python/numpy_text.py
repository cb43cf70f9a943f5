"""Random functions in numpy's style: their text, to be run by numpy and compiled.

All sums have fewer than eight terms, which numpy adds in order, so that the bits have to be equal.
"""

import random

from tests.frontends.python.control_text import control, results, stores

TYPES = ["float64", "float32", "int32", "int64", "uint8", "int8", "int16", "uint32"]


class Writer:
    """Writes one function of vectors ``x``, ``y`` of ``n`` and matrices ``a``, ``b``."""

    def __init__(self, choice: random.Random, *, is_unsigned: bool = False) -> None:
        self.random = choice
        self.is_unsigned = is_unsigned
        self.vectors = ["x", "y"]
        self.matrices = ["a", "b"]
        self.numbers: list[str] = []
        self.count = 0

    def function(self) -> str:
        lines = ["n, m = a.shape"]
        for _ in range(self.random.randint(2, 5)):
            lines += self.statement(0)
        if self.random.random() < 0.3:
            lines += results(self)
            return "def made(x, y, a, b):\n" + "".join(f"    {line}\n" for line in lines)
        returned = self.pick(
            [*self.numbers, "x.sum()", "np.max(a, axis=0)", "a[1:].copy()", "b.T + 0", "n - m"]
        )
        lines.append(f"return {returned}")
        return "def made(x, y, a, b):\n" + "".join(f"    {line}\n" for line in lines)

    def pick(self, options: list[str]) -> str:
        """Choose; i64 beside u64 makes floats, whose conversion to integers is not promised."""
        if self.is_unsigned:
            options = [one for one in options if "arange" not in one and "np.arg" not in one]
        return self.random.choice(options)

    def new(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def statement(self, depth: int) -> list[str]:  # noqa: C901, PLR0911, PLR0912
        r = self.pick(
            [
                "slice",
                "slice",
                "rows",
                "block",
                "column",
                "augment",
                "mask",
                "number",
                "temp",
                "flip",
                "control",
                "stores",
            ]
            + (["loop", "loop", "branch", "each", "rebind", "tuple"] if depth < 2 else [])
        )
        match r:
            case "control":
                return control(self)
            case "stores":
                return stores(self)
            case "slice":
                low, high = self.window()
                return [f"{self.pick(['x', 'y'])}{self.part(low, high)} = {self.vector(low, high)}"]
            case "rows":
                row = self.pick(["0", "-1", "1", "n - 2"])
                return [f"{self.pick(['a', 'b'])}[{row}] = {self.row()}"]
            case "column":
                return [
                    f"{self.pick(['a', 'b'])}[:, {self.pick(['0', '-1', '2'])}] = "
                    f"{self.vector(0, 0)}"
                ]
            case "block":
                return [f"{self.pick(['a', 'b'])}[1:-1, 1:-1] = {self.block()}"]
            case "augment":
                op = self.pick(["+=", "-=", "*="])
                which = self.pick(["x", "x[1:]", "a[0]", "a", "b[1:-1, 1:-1]", "y[::2]"])
                value = {
                    "x": self.vector(0, 0),
                    "x[1:]": self.vector(1, 0),
                    "a[0]": self.row(),
                    "a": "b" if self.random.random() < 0.5 else "a[:, :1]",
                    "b[1:-1, 1:-1]": self.block(),
                    "y[::2]": "y[::2]",
                }[which]
                return [f"{which} {op} {value}"]
            case "mask":
                name = self.pick(["x", "a"])
                return [f"{name}[{name} {self.pick(['<', '>='])} {self.pick(['2', '0'])}] = 1"]
            case "number":
                name = self.new("s")
                text = f"{name} = {self.number()}"
                if depth == 0:
                    self.numbers.append(name)
                return [text]
            case "temp":
                name = self.new("t")
                text = f"{name} = {self.vector(0, 0)}"
                if depth == 0:
                    self.vectors.append(name)
                return [text, f"{name}[0] = {self.pick(['x', 'y'])}[1]"]
            case "flip":
                return [
                    self.pick(
                        [
                            "x[:] = x[::-1]",
                            "y[1:] = y[:-1]",
                            "a[1:] = a[:-1]",
                            "b[:-1] = b[1:]",
                            "x[2:] = x[:-2] + x[1:-1]",
                            "a[:, 1:] = a[:, :-1]",
                            "x[:] = np.roll(x, 2)",
                        ]
                    )
                ]
            case "loop":
                i = f"i{depth}"
                bounds = self.pick(["n", "1, n", "n - 1, -1, -1", "0, n, 2", "n - 1"])
                body = self.inside(i)
                inner = self.statement(depth + 1) if self.random.random() < 0.4 else []
                return [
                    f"for {i} in range({bounds}):",
                    *(f"    {line}" for line in [*body, *inner]),
                ]
            case "branch":
                test = self.pick(["x[0] > y[1]", "n > 3", "a[0, 0] < 2 and x[1] > 0"])
                inner = self.statement(depth + 1)
                other = self.statement(depth + 1)
                lines = [f"if {test}:", *(f"    {line}" for line in inner)]
                if self.random.random() < 0.5:
                    lines += ["else:", *(f"    {line}" for line in other)]
                return lines
            case "each":
                v = self.new("v")
                return [
                    self.pick(
                        [f"for e{v}, {v} in enumerate(x):", f"for e{v}, {v} in enumerate(y, 0):"]
                    ),
                    f"    y[e{v}] = {v} {self.pick(['+', '*'])} {v}",
                    f"    x[-1 - e{v}] = {v}",
                ]
            case "rebind":
                t = self.new("r")
                return [
                    f"{t} = {self.pick(['x', 'y'])} + 1",
                    "for _ in range(2):",
                    f"    {t} = {t}[::-1] + {self.pick(['x', t])}",
                    f"y[:] = {t}",
                ]
            case _:
                return [
                    self.pick(
                        [
                            "x[0], x[1] = x[1], x[0]",
                            "x[0], y[1] = y[1] + 1, x[0]",
                            "a[0, 0], x[1] = x[0], a[0, 0]",
                        ]
                    )
                ]

    def inside(self, i: str) -> list[str]:
        """Statements in a loop over ``i``, from 0 to n - 1."""
        return [
            self.pick(
                [
                    f"x[{i}] = y[{i}] + x[{i} - 1]",
                    f"y[({i} + 1) % n] = x[{i}]",
                    f"a[{i}] = a[{i}] + b[{i} - 1]",
                    f"a[{i}, 1:] = a[{i}, :-1] + x[{i}]",
                    f"x[{i}] = a[{i}].sum()",
                    f"y[{i}] = np.max(a[{i}, 1:]) + np.sum(b[:, 0])",
                    f"a[{i}, :] += b[n - 1 - {i}, :]",
                    f"x[:{i}] = y[:{i}]",
                    f"x[{i}:] = x[{i}:] + 1",
                    f"y[{i}] = np.sum(x[:{i}])",
                    f"x[{i}] = y[{i}] if x[{i}] > 1 else x[0]",
                    f"y[{i}] = x[{i} + 1] if {i} + 1 < n else 3",
                ]
            )
        ]

    def window(self) -> tuple[int, int]:
        return self.random.choice([(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2)])

    def part(self, low: int, high: int) -> str:
        return f"[{low or ''}:{-high if high else ''}]"

    def vector(self, low: int, high: int) -> str:
        """A vector with ``low + high`` elements less than ``n``."""
        total = low + high

        def one() -> str:
            shift = self.random.randint(0, total)
            kinds = [
                f"{self.pick(self.vectors)}{self.part(shift, total - shift)}",
                f"{self.pick(self.vectors)}{self.part(shift, total - shift)}",
                self.pick(["2", "3", "x[0]", *self.numbers]),
                f"a{self.part(shift, total - shift)[:-1]}, {self.pick(['0', '1', '-1'])}]",
                f"np.arange({total}, n)",
            ]
            if not total:
                kinds += ["a.sum(axis=1)", "np.min(b, axis=-1)", "y[::-1]"]
            return self.pick(kinds)

        left, right = one(), one()
        first = f"{self.pick(self.vectors)}{self.part(low, high)}"
        return self.pick(
            [
                first,
                f"{first} + {right}",
                f"{first} - {left} * {right}",
                f"np.where({first} > {left}, {first}, {right})",
                f"np.maximum({first}, {right})",
                f"np.clip({first}, 1, 5)",
                f"-{first} + {left}",
                f"{first} * 2 + 1",
                f"abs({first})",
            ]
        )

    def row(self) -> str:
        return self.pick(
            [
                "a[1]",
                "b[-1] * 2",
                "a[0] + b[1]",
                "np.max(a, axis=0)",
                "b.sum(axis=0)",
                "a[0][::-1]",
                "x[0]",
                "b[1] - b[0]",
                "a.T[:, 1]",
            ]
        )

    def block(self) -> str:
        return self.pick(
            [
                "a[:-2, 1:-1] + a[2:, 1:-1]",
                "b[1:-1, :-2] - b[1:-1, 2:]",
                "(a[1:-1, 1:-1] + b[:-2, :-2]) * 2",
                "x[1:-1, None] + a[0, 1:-1]",
                "b[1:-1, 1:-1] * x[1:-1][:, np.newaxis]",
                "np.outer(x[1:-1], a[0, 1:-1])",
            ]
        )

    def number(self) -> str:
        return self.pick(
            [
                "np.sum(x)",
                "x.max()",
                "np.argmax(y)",
                "a.min()",
                "x[0] + y[-1]",
                "n * m",
                "np.sum(x[1:] - x[:-1])",
                "len(y[1:])",
                "np.argmin(a[0])",
                "int(np.sum(x > 1))",
            ]
        )
