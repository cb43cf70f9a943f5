"""Random functions over two arrays: their text, to be run by Python and as kernels."""

from hypothesis import strategies as st

_LINE = "    "


class Text:
    """Writes one function; every choice is drawn.

    All subscripts stay inside of arrays of 12 elements, for all indices below 6.
    """

    def __init__(self, draw: st.DataObject) -> None:
        self.draw = draw.draw
        self.indices: list[str] = []
        self.numbers: list[str] = []
        self.affine: list[str] = []

    def function(self) -> str:
        """The text of a function named ``made``."""
        body = ["n = x.shape[0]", "s = 0", *(line for _ in range(3) for line in self.statement(0))]
        lines = "\n".join(_LINE + line for line in body)
        return f'def made(x: "i64[n]", y: "i64[n]"):\n{lines}\n{_LINE}y[0] = s\n'

    def statement(self, depth: int) -> list[str]:
        kinds = ["store", "add", "number", "sum", "affine"]
        if depth < 3:
            kinds += ["loop", "loop", "if", "branch"]
        kind = self.draw(st.sampled_from(kinds))
        match kind:
            case "store":
                return [f"{self.element()} = {self.value()}"]
            case "add":
                return [f"{self.element()} {self.choice('+= -= *=')} {self.value()}"]
            case "number":
                return [f"s = {self.value()}"]
            case "sum":
                return [f"s += {self.value()}"]
            case "affine":
                return [f"k = {self.subscript()}", f"{self.choice('x y')}[k] = {self.value()}"]
            case "loop":
                return self.loop(depth)
            case _:
                test = self.condition() if kind == "if" else self.data()
                lines = [f"if {test}:", *self.block(depth)]
                if self.draw(st.booleans()):
                    lines += ["else:", *self.block(depth)]
                return lines

    def loop(self, depth: int) -> list[str]:
        index = f"i{depth}"
        if index in self.indices:
            return ["s += 1"]
        end = self.choice(["6", "5", "n - 6", *(f"{one} + 1" for one in self.indices)])
        bounds = self.choice([end, f"1, {end}", f"0, {end}, 2", f"{end} - 1, -1, -1", "5, 0, -2"])
        self.indices.append(index)
        body = self.block(depth)
        self.indices.pop()
        return [f"for {index} in range({bounds}):", *body]

    def block(self, depth: int) -> list[str]:
        count = self.draw(st.integers(1, 2))
        return [_LINE + line for _ in range(count) for line in self.statement(depth + 1)]

    def element(self) -> str:
        return f"{self.choice('x y')}[{self.subscript()}]"

    def subscript(self) -> str:
        parts = ["3", "n - 1", "-2"]
        for one in self.indices:
            parts += [one, f"{one} + 1", f"n - 1 - {one}", f"min({one}, 4)", f"{one} // 2"]
        for one, other in zip(self.indices, self.indices[1:], strict=False):
            parts.append(f"{one} + {other}")
        return self.choice(parts)

    def value(self) -> str:
        parts = ["2", "s", self.element(), self.element(), *self.indices]
        left, right = self.choice(parts), self.choice(parts)
        return self.choice(
            [
                left,
                f"{left} + {right}",
                f"{left} - {right}",
                f"max({left}, {right})",
                f"abs({left})",
                f"({left} if {self.data()} else {right})",
                f"-{left} % 7",
                f"{left} // 3",
            ]
        )

    def condition(self) -> str:
        """Of indices and sizes."""
        parts = ["n > 11"]
        for one in self.indices:
            parts += [f"{one} < 3", f"{one} % 2 == 0", f"1 <= {one} < 4 or {one} == 5"]
        return self.choice(parts)

    def data(self) -> str:
        return (
            f"{self.element()} {self.choice('< >= ==')} {self.choice(['0', 's', self.element()])}"
        )

    def choice(self, options: str | list[str]) -> str:
        return str(
            self.draw(st.sampled_from(options.split() if isinstance(options, str) else options))
        )
