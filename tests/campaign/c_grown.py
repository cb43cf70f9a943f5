"""Random C functions: affine loops over values of all widths, without undefined behavior."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.campaign.c_text import Argument, X, affine_text
from tests.campaign.drawing import (
    Affine,
    Dice,
    constant,
    greatest_of,
    least_of,
    plus,
)

INTS = {
    "int": 6, "unsigned": 3, "short": 2, "unsigned short": 2, "signed char": 2, "uint8_t": 2,
    "long": 2, "unsigned long": 1, "int64_t": 1, "int16_t": 1, "uint32_t": 1, "long long": 0.5,
    "char": 0.5, "int8_t": 1, "size_t": 0.4, "_Bool": 0.5,
}  # fmt: skip
MEMBERS = {"float": ("d", "f", "p[0]", "p[1]"), "int": ("k", "c", "u")}
"""The members of `rec`, by kind."""
FLOATS = {"float": 5, "double": 4, "real": 1}
_UNARY_MATH = ("sqrt", "fabs", "floor", "ceil", "trunc", "rint")
_LIBRARY = ("sin", "cos", "log", "atan", "cbrt", "tanh")
_BINARY_MATH = ("fmin", "fmax", "fmod", "hypot", "atan2", "pow")


@dataclass
class Scope:
    """What may be used at a place."""

    ranges: dict[str, tuple[Affine, Affine]] = field(default_factory=dict)
    numbers: list[tuple[str, str]] = field(default_factory=list)  # names and kinds
    written: list[tuple[str, str]] = field(default_factory=list)
    tables: list[tuple[str, str, int]] = field(default_factory=list)
    is_bare: bool = False  # inside of a helper function, which has numbers alone

    def inner(self) -> Scope:
        return Scope(dict(self.ranges), list(self.numbers), list(self.written), list(self.tables))


def kind(ctype: str) -> str:
    return "float" if ctype in FLOATS else "int"


def width_of(name: str) -> str:
    """The size that is the distance of two rows of a flat array."""
    return f"ld_{name}"


class Writer:
    """Draws one function."""

    def __init__(self, name: str, seed: object) -> None:
        self.name, self.dice = name, Dice(("c", seed))
        dice = self.dice
        self.sizes = ("n", "m")[: dice.weighted({1: 4, 2: 3})]
        self.arrays: dict[str, Argument] = {}
        self.ends: dict[str, list[list[Affine]]] = {}
        self.before: list[str] = []
        self.helpers: list[tuple[str, str, tuple[str, ...]]] = []
        self.records: dict[str, list[Affine]] = {}
        self._count = 0
        self.has_records = dice.chance(0.15)
        self.computes = dice.chance(0.15)
        self.has_breaks = dice.chance(0.2)
        base = dice.weighted({**INTS, **FLOATS})
        self.types = [base, base, *(dice.weighted({**INTS, **FLOATS}) for _ in range(2))]

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    # Elements

    def array(self, wanted: str | None, *, written: bool) -> str:
        dice = self.dice
        known = [
            one.name
            for one in self.arrays.values()
            if (not written or one.role == "inout") and wanted in (None, kind(one.type))
        ]
        if known and dice.chance(0.7):
            return dice.pick(known)
        types = [one for one in self.types if wanted in (None, kind(one))]
        if not types:
            types = [dice.weighted(FLOATS if wanted == "float" else INTS)]
        name = self.fresh("a")
        rank = dice.weighted({1: 5, 2: 4, 3: 0.7})
        role = "inout" if written or dice.chance(0.3) else "const"
        flat = rank < 3 and dice.chance(0.25)
        self.arrays[name] = Argument(name, dice.pick(types), role, flat=flat)
        self.ends[name] = [[] for _ in range(rank)]
        return name

    def _subscript(self, scope: Scope, position: int) -> tuple[str, Affine]:
        """Text of a subscript, and the largest value that it has."""
        dice = self.dice
        form: dict[str, int] = constant(dice.weighted({0: 6, 1: 2, 2: 1}))
        names = list(scope.ranges)
        if names and dice.chance(0.93):
            at = position if position < len(names) and dice.chance(0.6) else None
            index = names[at] if at is not None else dice.pick(names)
            form[index] = dice.weighted({1: 12, 2: 1, -1: 1.5})
            if dice.chance(0.12):
                other = dice.pick(names)
                form[other] = form.get(other, 0) + dice.pick((1, -1))
        lowest = least_of(form, scope.ranges)
        lift = {name: -c for name, c in lowest.items() if c < 0 or (not name and dice.chance(0.5))}
        form = plus(form, lift)
        highest = greatest_of(form, scope.ranges)
        text = affine_text(form)
        if dice.chance(0.05):
            by = dice.pick((2, 3, 4))
            return f"({text}) % {by}", constant(by - 1)
        if dice.chance(0.03):
            return f"({text}) / 2", highest
        return text, highest

    def subscripts(self, scope: Scope, name: str) -> list[str]:
        """Subscripts of an array, which is made large enough for them."""
        found = []
        for position, ends in enumerate(self.ends[name]):
            text, highest = self._subscript(scope, position)
            ends.append(highest)
            found.append(text)
        return found

    def member(self, scope: Scope, wanted: str) -> str:
        """A member of an element of an array of structs."""
        dice = self.dice
        if not self.records or (len(self.records) < 2 and dice.chance(0.3)):
            self.records[self.fresh("b")] = []
        name = dice.pick(list(self.records))
        text, highest = self._subscript(scope, 0)
        self.records[name].append(highest)
        pointer = dice.chance(0.2) and text == "0"
        field = dice.pick(MEMBERS[wanted])
        return f"{name}->{field}" if pointer else f"{name}[{text}].{field}"

    def element(self, scope: Scope, name: str) -> str:
        subscripts = self.subscripts(scope, name)
        if self.arrays[name].flat and len(subscripts) == 2:
            return f"{name}[({subscripts[0]}) * {width_of(name)} + {subscripts[1]}]"
        return name + "".join(f"[{one}]" for one in subscripts)

    # Values

    def value(self, scope: Scope, wanted: str, depth: int) -> X:
        if wanted == "float":
            return self._float(scope, depth)
        return self._int(scope, depth)

    def _atom(self, scope: Scope, wanted: str) -> X:
        dice = self.dice
        if not scope.is_bare and self.has_records and dice.chance(0.2):
            return X(wanted, (self.member(scope, wanted),))
        if not scope.is_bare and scope.ranges and self.computes and dice.chance(0.08):
            name = self.array(wanted, written=False)
            if len(self.ends[name]) == 1 and not self.arrays[name].flat:
                self.ends[name][0].append(constant(3))
                return X(wanted, (f"{name}[", self._int(scope, 1), " & 3]"))
        if not scope.is_bare and (dice.chance(0.62) or (wanted == "float" and dice.chance(0.5))):
            return X(wanted, (self.element(scope, self.array(wanted, written=False)),))
        numbers = [name for name, its in scope.numbers + scope.written if its == wanted]
        tables = [one for one in scope.tables if one[1] == wanted]
        if tables and dice.chance(0.3) and scope.ranges:
            name, _, size = dice.pick(tables)
            return X(wanted, (f"{name}[{self.bounded(scope, size)}]",))
        if wanted == "int" and dice.chance(0.4) and not scope.is_bare:
            numbers += [*scope.ranges, *self.sizes]
        if numbers and dice.chance(0.7):
            return X(wanted, (dice.pick(numbers),))
        if wanted == "float":
            return X(wanted, (dice.pick(("0.5f", "1.5", "-2.0f", "0.1", "3.0f", "1e-3f")),))
        literals = ("0", "1", "2", "3", "-1", "7", "100", "255", "1000", "3u", "5L", "0x7f", "-129",
                    "70000", "'a'", "0x80000000u", "1ul", "LARGE", "SEVEN")  # fmt: skip
        return X(wanted, (dice.pick(literals),))

    def bounded(self, scope: Scope, size: int) -> str:
        """A subscript of an array of literal size, always inside."""
        index = self.dice.pick(list(scope.ranges))
        low = least_of({index: 1}, scope.ranges)
        lift = plus({index: 1}, {name: -c for name, c in low.items() if c < 0})
        return f"({affine_text(lift)}) % {size}"

    def _int(self, scope: Scope, depth: int) -> X:  # noqa: C901, PLR0911  (a case each)
        dice = self.dice
        if depth <= 0 or dice.chance(0.12):
            return self._atom(scope, "int")
        left = self._int(scope, depth - 1)
        choice = dice.weighted(
            {"arith": 9, "bits": 3, "shift": 2, "divide": 1.5, "unary": 1, "cast": 2, "choose": 2,
             "compare": 1, "from float": 1, "abs": 0.4, "call": 1}
        )  # fmt: skip
        right = self._int(scope, depth - 1)
        match choice:
            case "arith":
                return X("int", ("(", left, f" {dice.pick('++-*')} ", right, ")"))
            case "bits":
                return X("int", ("(", left, f" {dice.pick('&|^')} ", right, ")"))
            case "shift":
                amount: X | str = str(dice.between(0, 6)) if dice.chance(0.6) else right
                sign = dice.pick(("<<", ">>", ">>"))
                return X("int", ("(", left, f" {sign} (", amount, " & 7))"))
            case "divide":
                by: tuple[str | X, ...] = (str(dice.pick((2, 3, 7, 16))),)
                if dice.chance(0.4):
                    by = ("((", right, " & 7) + 1)")
                return X("int", ("(", left, f" {dice.pick('/%')} ", *by, ")"))
            case "unary":
                return X("int", (f"({dice.pick('-~!+')} ", left, ")"))
            case "cast":
                return X("int", (f"({dice.weighted(INTS)})(", left, ")"))
            case "choose":
                condition = self.condition(scope, depth - 1)
                return X("int", ("(", condition, " ? ", left, " : ", right, ")"))
            case "compare":
                return X("int", ("(", self.condition(scope, depth - 1), ")"))
            case "from float":
                inner = self._float(scope, depth - 1)
                return X("int", (f"({dice.weighted(INTS)})fmax(fmin(", inner, ", 100.0), 0.0)"))
            case "abs":
                return X("int", ("abs((int)", left, ")"))
        return self._call(scope, "int", depth) or left

    def _float(self, scope: Scope, depth: int) -> X:
        dice = self.dice
        if depth <= 0 or dice.chance(0.12):
            return self._atom(scope, "float")
        left = self._float(scope, depth - 1)
        choice = dice.weighted(
            {"arith": 9, "mixed": 2, "unary": 1, "cast": 1, "choose": 2, "math": 1.5, "lib": 0.4,
             "binary math": 0.7, "call": 1}
        )  # fmt: skip
        suffix = dice.pick(("", "f"))
        match choice:
            case "arith":
                right = self._float(scope, depth - 1)
                return X("float", ("(", left, f" {dice.pick('++-**/')} ", right, ")"))
            case "mixed":
                other = self._int(scope, depth - 1)
                pair = (left, other) if dice.chance(0.5) else (other, left)
                return X("float", ("(", pair[0], f" {dice.pick('+-*')} ", pair[1], ")"))
            case "unary":
                return X("float", ("(- ", left, ")"))
            case "cast":
                whole = self._int(scope, depth - 1)
                return X("float", (f"({dice.weighted(FLOATS)})(", dice.pick((left, whole)), ")"))
            case "choose":
                right = self._float(scope, depth - 1)
                condition = self.condition(scope, depth - 1)
                return X("float", ("(", condition, " ? ", left, " : ", right, ")"))
            case "math":
                return X("float", (f"{dice.pick(_UNARY_MATH)}{suffix}(", left, ")"))
            case "lib":
                return X("float", (f"{dice.pick(_LIBRARY)}{suffix}(", left, ")"))
            case "binary math":
                right = self._float(scope, depth - 1)
                name = dice.pick(_BINARY_MATH)
                return X("float", (f"{name}{suffix}(", left, ", ", right, ")"))
        return self._call(scope, "float", depth) or left

    def condition(self, scope: Scope, depth: int) -> X:
        dice = self.dice
        if depth > 0 and dice.chance(0.2):
            left, right = (self.condition(scope, depth - 1) for _ in range(2))
            if dice.chance(0.2):
                return X("int", ("!(", left, ")"))
            return X("int", ("(", left, dice.pick((" && ", " || ")), right, ")"))
        wanted = dice.pick(("int", "float")) if dice.chance(0.5) else kind(self.types[0])
        left, right = (self.value(scope, wanted, depth - 1) for _ in range(2))
        if wanted == "int" and dice.chance(0.1):
            return left
        return X("int", (left, f" {dice.pick(('<', '<=', '>', '>=', '==', '!='))} ", right))

    def _call(self, scope: Scope, wanted: str, depth: int) -> X | None:
        """A call of a function of the file's own."""
        dice = self.dice
        fitting = [one for one in self.helpers if kind(one[1]) == wanted]
        if scope.is_bare:
            return None
        if not fitting:
            if len(self.helpers) > 1:
                return None
            self._helper(dice.weighted(FLOATS if wanted == "float" else INTS))
            fitting = self.helpers[-1:]
        name, _, types = dice.pick(fitting)
        parts: list[str | X] = [f"{name}("]
        for at, ctype in enumerate(types):
            parts += [", "] if at else []
            parts.append(self.value(scope, kind(ctype), depth - 2))
        return X(wanted, (*parts, ")"))

    def _helper(self, returns: str) -> None:
        dice = self.dice
        name = f"{self.name}_{self.fresh('h')}"
        types = tuple(
            dice.weighted(FLOATS if kind(returns) == "float" or dice.chance(0.2) else INTS)
            for _ in range(dice.between(1, 3))
        )
        scope = Scope(numbers=[(f"p{i}", kind(one)) for i, one in enumerate(types)])
        scope.is_bare = True
        value = self.value(scope, kind(returns), 2)
        passed = ", ".join(f"{one} p{i}" for i, one in enumerate(types))
        self.before.append(f"static inline {returns} {name}({passed}) {{ return {value}; }}")
        self.helpers.append((name, returns, types))
