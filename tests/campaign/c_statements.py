"""Statements of random C functions: nests, branches, locals, compound assignments."""

from __future__ import annotations

from dataclasses import replace

from tests.campaign.c_grown import FLOATS, INTS, Scope, Writer, kind, width_of
from tests.campaign.c_text import Argument, Function, S, X, affine_text
from tests.campaign.drawing import (
    constant,
    greatest_of,
    least_of,
    plus,
    upper_hull,
)

_EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 13)


class FunctionWriter:
    """Draws the statements of one function."""

    def __init__(self, name: str, seed: object) -> None:
        self.writer = Writer(name, seed)
        self.dice = self.writer.dice
        self.returns: tuple[str, str] | None = None

    def function(self) -> Function:
        writer, dice = self.writer, self.dice
        scope = Scope()
        passed: list[Argument] = []
        for _ in range(dice.weighted({0: 4, 1: 3, 2: 1})):
            ctype = dice.pick((*writer.types, dice.weighted({**INTS, **FLOATS})))
            passed.append(Argument(writer.fresh("c"), ctype, "number"))
            scope.numbers.append((passed[-1].name, kind(ctype)))
        if dice.chance(0.2):
            self._table(scope)
        body: list[S] = []
        result = ""
        if dice.chance(0.25):
            result = dice.pick(writer.types)
            body.append(
                S((f"{result} r = ", writer.value(replace(scope, is_bare=True), kind(result), 1)))
            )
            scope.written.append(("r", kind(result)))
        if dice.chance(0.08):
            condition = dice.pick((f"{writer.sizes[0]} < {dice.pick('2358')}", None))
            bare = replace(scope, is_bare=True)
            value = ("return ", writer.value(bare, kind(result), 1)) if result else ("return",)
            holds = condition or writer.condition(bare, 1)
            body.append(S(("if (", holds, ") ", *value)))
        body += self.nest(scope, dice.weighted({1: 4, 2: 4, 3: 2}), ())
        if result:
            body.append(S(("return r",)))
        sizes = [
            Argument(one, dice.weighted({"int": 8, "long": 1, "int64_t": 0.5}), "size")
            for one in writer.sizes
        ]
        arrays = [self._finished(one) for one in writer.arrays.values()]
        for name, ends in writer.records.items():
            hull = plus(upper_hull(ends), constant(1))
            arrays.append(Argument(name, "rec", "inout", ({**hull, "": max(hull[""], 1)},)))
        widths = tuple(
            (width_of(one.name), one.extents[1])
            for one in arrays
            if one.flat and len(one.extents) == 2
        )
        sizes += [Argument(name, "int", "size") for name, _ in widths]
        arrays = [
            replace(one, extents=(one.extents[0], {width_of(one.name): 1}))
            if one.flat and len(one.extents) == 2
            else one
            for one in arrays
        ]
        return Function(
            writer.name,
            result or "void",
            (*sizes, *passed, *arrays),
            tuple(writer.before),
            tuple(body),
            widths,
        )

    def _finished(self, one: Argument) -> Argument:
        hulls = [plus(upper_hull(ends), constant(1)) for ends in self.writer.ends[one.name]]
        hulls = [{**hull, "": max(hull[""], 1)} for hull in hulls]
        return replace(one, extents=tuple(hulls))

    def _table(self, scope: Scope) -> None:
        dice, writer = self.dice, self.writer
        name, size = f"{writer.name}_{writer.fresh('T')}", dice.between(2, 6)
        ctype = dice.pick(writer.types)
        numbers = ("0", "1", "-2", "3", "7", "100") if kind(ctype) == "int" else ("0.5", "-1", "3")
        values = ", ".join(dice.pick(numbers) for _ in range(size))
        writer.before.append(f"static const {ctype} {name}[{size}] = {{{values}}};")
        scope.tables.append((name, kind(ctype), size))

    # Nests

    def nest(self, scope: Scope, budget: int, names: tuple[str, ...]) -> list[S]:
        dice = self.dice
        found: list[S] = []
        while budget > 0:
            here = dice.between(1, budget)
            budget -= here
            depth = len(names)
            if depth and here == 1 and dice.chance((0, 0.45, 0.75, 1)[depth]):
                found += self.leaf(scope)
            elif depth and dice.chance(0.15):
                found += self._branch(scope, here, names)
            elif depth and dice.chance(0.12):
                found += self._accumulated(scope, names)
            # A store that a condition on data skips keeps the value before: a local array has none.
            elif depth < 3 and not self.writer.has_breaks and dice.chance(0.08):
                found += self._through_local(scope, names)
            elif depth < 3 and not self.writer.has_breaks and dice.chance(0.1):
                found += self._continued(scope)
            elif depth == 3:
                found += self.leaf(scope)
                budget += here - 1
            else:
                found.append(self._loop(scope, here, names))
        return found

    def _loop(self, scope: Scope, budget: int, names: tuple[str, ...]) -> S:
        head, inner, name = self._head(scope, names)
        first = inner.inner()  # without the variables that the body declares
        body = self.nest(inner, budget, (*names, name))
        if self.writer.has_breaks and self.dice.chance(0.2):
            leave = S(("if (", self.writer.condition(first, 1), ") break"))
            body.insert(self.dice.between(0, len(body)), leave)
        if self.dice.chance(0.08):
            body.insert(0, S(("if (", self.writer.condition(first, 1), ") continue")))
        return S((head,), tuple(body))

    def _head(self, scope: Scope, names: tuple[str, ...]) -> tuple[str, Scope, str]:
        """The head of a loop, and what is known inside."""
        dice, depth = self.dice, len(names)
        name = "ijkl"[depth]
        low: dict[str, int] = constant(dice.weighted({0: 6, 1: 2, 2: 0.5}))
        if dice.chance(0.7):
            high = {dice.pick(self.writer.sizes): 1, "": dice.weighted({0: 6, -1: 2, 1: 1})}
        else:
            high = constant(dice.pick(_EXTENTS))
        if names and dice.chance(0.25):
            outer = dice.pick(names)
            match dice.between(0, 2):
                case 0:
                    high = {outer: 1, "": dice.pick((0, 1, 1, 2))}
                case 1:
                    low = {outer: 1, "": dice.pick((0, 1))}
                case _:
                    low, high = {outer: 1, "": 0}, {outer: 1, "": dice.pick((2, 4))}
        inner = scope.inner()
        inner.ranges[name] = (
            least_of(low, scope.ranges),
            plus(greatest_of(high, scope.ranges), constant(-1)),
        )
        last = plus(high, constant(-1))
        ctype = dice.weighted({"int": 12, "long": 1})
        step = dice.weighted({1: 12, 2: 1.5, 3: 0.5})
        if dice.chance(0.15):
            move = f"{name}--" if step == 1 else f"{name} -= {step}"
            start, end = affine_text(last), affine_text(low)
            return f"for ({ctype} {name} = {start}; {name} >= {end}; {move})", inner, name
        move = dice.pick((f"{name}++", f"++{name}")) if step == 1 else f"{name} += {step}"
        if low == {"": 0} and high == {self.writer.sizes[0]: 1, "": 0} and dice.chance(0.1):
            return (
                f"for ({ctype} {name} = 0; {name} != {self.writer.sizes[0]}; {move})",
                inner,
                name,
            )
        until = f"< {affine_text(high)}" if dice.chance(0.7) else f"<= {affine_text(last)}"
        if step == 1 and ctype == "int" and dice.chance(0.12):
            second, start = self.writer.fresh("w"), dice.pick(("0", "5", "-3"))
            inner.numbers.append((second, "int"))
            declared = f"int {name} = {affine_text(low)}, {second} = {start}"
            if dice.chance(0.4):
                return f"for ({declared}; {name} {until}; {second} = {name}++)", inner, name
            other = dice.pick((f"{second}++", f"--{second}", f"{second} += 3"))
            return f"for ({declared}; {name} {until}; {name}++, {other})", inner, name
        return f"for ({ctype} {name} = {affine_text(low)}; {name} {until}; {move})", inner, name

    def _continued(self, scope: Scope) -> list[S]:
        """A loop over whole groups, the loop over what is left, and the variable afterwards."""
        dice, writer = self.dice, self.writer
        name, size, group = writer.fresh("u"), dice.pick(writer.sizes), dice.between(2, 5)
        low = dice.weighted({0: 6, 1: 1, 3: 1})
        main, rest = scope.inner(), scope.inner()
        for inner in (main, rest):
            inner.ranges[name] = (constant(low), {size: 1, "": -1})
        more = group - 1
        until = dice.pick((f"{name} + {more} < {size}", f"{name} <= {size} - {group}"))
        after = scope.inner()
        after.numbers.append((name, "int"))
        between = self.leaf(after) if dice.chance(0.3) else []
        last = self.leaf(after) if dice.chance(0.4) else []
        return [
            S((f"int {name} = {low}",)),
            S((f"for (; {until}; {name} += {group})",), tuple(self.leaf(main))),
            *between,
            S((f"for (; {name} < {size}; {name}++)",), tuple(self.leaf(rest))),
            *last,
        ]

    def _branch(self, scope: Scope, budget: int, names: tuple[str, ...]) -> list[S]:
        dice = self.dice
        if dice.chance(0.4):
            condition: str | X = self._affine_condition(names)
        else:
            condition = self.writer.condition(scope, 2)
        yes = S(("if (", condition, ")"), tuple(self.nest(scope.inner(), budget, names)))
        if dice.chance(0.4):
            return [yes, S(("else",), tuple(self.nest(scope.inner(), 1, names)))]
        return [yes]

    def _affine_condition(self, names: tuple[str, ...]) -> str:
        dice = self.dice
        one, other = dice.pick(names), dice.pick(names)
        return dice.pick(
            (
                f"{one} % 2 == {dice.pick((0, 1))}",
                f"{one} < {other} + 1",
                f"{one} + {other} < {self.writer.sizes[0]} - 1",
                f"{one} > {dice.pick((0, 1, 2))}",
                f"{one} == {dice.pick(('0', '1', other))}",
                f"{one} != 1 && {other} >= 1",
            )
        )

    # Statements

    def leaf(self, scope: Scope) -> list[S]:
        dice, writer = self.dice, self.writer
        before: list[S] = []
        if dice.chance(0.25):
            ctype, name = dice.pick(writer.types), writer.fresh("v")
            const = "const " if dice.chance(0.3) else ""
            before.append(S((f"{const}{ctype} {name} = ", writer.value(scope, kind(ctype), 2))))
            scope = scope.inner()
            scope.numbers.append((name, kind(ctype)))
        if scope.written and dice.chance(0.3):
            name, its = dice.pick(scope.written)
            return [*before, self._assigned(scope, name, its)]
        if writer.has_records and dice.chance(0.4):
            its = dice.pick(("float", "int"))
            return [*before, *self._local_struct(scope), self._assigned(
                scope, writer.member(scope, its), its
            )]  # fmt: skip
        array = writer.array(None, written=True)
        its = kind(writer.arrays[array].type)
        if dice.chance(0.08) and not writer.arrays[array].flat:
            return [*before, self._helped(scope, array, its)]
        if len(writer.ends[array]) == 2 and dice.chance(0.3):
            row, target = self._row(scope, array)
            return [*before, row, self._assigned(scope, target, its)]
        assigned = self._assigned(scope, writer.element(scope, array), its)
        if assigned.body is None and dice.chance(0.08):
            assigned = S(("ONCE(", *assigned.parts, ")"))
        return [*before, assigned]

    def _local_struct(self, scope: Scope) -> list[S]:
        """A struct of the statement's own; its members are numbers from here on."""
        dice, writer = self.dice, self.writer
        if not dice.chance(0.4):
            return []
        name = writer.fresh("q")
        values: tuple[str | X, ...] = (
            writer.value(scope, "float", 1), ", ", writer.value(scope, "int", 1)
        )  # fmt: skip
        scope.numbers += [(f"{name}.x", "float"), (f"{name}.n", "int")]
        return [S((f"pair {name} = {{", *values, "}"))]

    def _helped(self, scope: Scope, array: str, its: str) -> S:
        """A call of a function without a result, which stores elements of an array."""
        dice, writer = self.dice, self.writer
        ctype, count = writer.arrays[array].type, dice.between(1, 4)
        name = f"{writer.name}_{writer.fresh('g')}"
        last = writer.ends[array][-1]
        subscripts = writer.subscripts(scope, array)
        last.append(plus(last[-1], constant(count - 1)))
        sign = dice.pick("+-")
        leaves = "if (k == 2) return; " if dice.chance(0.3) else ""
        if dice.chance(0.4):
            body = f"for (int i = 0; i < k; i++) p[i] = p[i] {sign} v;"
        else:
            loop = f"for (int j = 0; j < k; ++j) {{ p[j] = i; i = i {sign} 1; }}"
            body = f"{leaves}{ctype} i = v; {loop}"
        writer.before.append(f"static void {name}({ctype} *p, int k, {ctype} v) {{ {body} }}")
        place = f"&{array}" + "".join(f"[{one}]" for one in subscripts)
        return S((f"{name}({place}, {count}, ", writer.value(scope, its, 1), ")"))

    def _row(self, scope: Scope, array: str) -> tuple[S, str]:
        """A row of an array, by a pointer or by its first position, and an element of it."""
        writer = self.writer
        one, (first, second) = writer.arrays[array], writer.subscripts(scope, array)
        name = writer.fresh("row")
        if one.flat:
            return S(
                (f"int {name} = ({first}) * {width_of(array)}",)
            ), f"{array}[{name} + {second}]"
        return S((f"{one.type} *{name} = {array}[{first}]",)), f"{name}[{second}]"

    def _assigned(self, scope: Scope, target: str, its: str) -> S:
        dice, writer = self.dice, self.writer
        choice = dice.weighted({"=": 6, "op=": 4, "++": 0.5, "if": 0.6})
        if choice == "++":
            return S((dice.pick((f"{target}++", f"--{target}", f"++{target}", f"{target}--")),))
        if choice == "if":
            value = writer.value(scope, its, 1)
            return S((f"if ({target} {dice.pick('<>')} ", value, f") {target} = ", value))
        if choice == "=":
            return S((f"{target} = ", writer.value(scope, its, dice.between(1, 3))))
        if its == "float":
            value = writer.value(scope, dice.pick(("float", "float", "int")), 2)
            return S((f"{target} {dice.pick('++-*/')}= ", value))
        sign = dice.weighted(
            {"+=": 4, "-=": 2, "*=": 1, "&=": 1, "|=": 1, "^=": 1, "<<=": 0.5, ">>=": 0.7,
             "/=": 0.4, "%=": 0.4}
        )  # fmt: skip
        value = writer.value(scope, "int", 2)
        if sign in ("<<=", ">>="):
            return S((f"{target} {sign} (", value, ") & 7"))
        if sign in ("/=", "%="):
            return S((f"{target} {sign} ((", value, ") & 15) + 1"))
        return S((f"{target} {sign} ", value))

    def _accumulated(self, scope: Scope, names: tuple[str, ...]) -> list[S]:
        """A number that a loop adds to, stored afterwards."""
        dice, writer = self.dice, self.writer
        ctype, name = dice.pick(writer.types), writer.fresh("s")
        first = S((f"{ctype} {name} = ", writer.value(scope, kind(ctype), 1)))
        if len(names) >= 3:
            return self.leaf(scope)
        inside = scope.inner()
        head, inner, _ = self._head(inside, names)
        inner.written.append((name, kind(ctype)))
        loop = S((head,), (self._assigned(inner, name, kind(ctype)),))
        after = scope.inner()
        after.numbers.append((name, kind(ctype)))
        array = writer.array(None, written=True)
        target = writer.element(scope, array)
        its = kind(writer.arrays[array].type)
        stored: X | str = name if its == kind(ctype) or its == "float" else "1"
        return [first, loop, S((f"{target} = ", stored, " + ", writer.value(after, its, 1)))]

    def _through_local(self, scope: Scope, names: tuple[str, ...]) -> list[S]:
        """A local array: written whole by one loop, read by another."""
        dice, writer = self.dice, self.writer
        ctype, name, size = dice.pick(writer.types), writer.fresh("t"), dice.between(2, 8)
        index = "ijkl"[len(names)]
        inner = scope.inner()
        inner.ranges[index] = (constant(0), constant(size - 1))
        head = f"for (int {index} = 0; {index} < {size}; {index}++)"
        value = writer.value(inner, kind(ctype), 2)
        inner.tables.append((name, kind(ctype), size))
        array = writer.array(kind(ctype), written=True)
        target = writer.element(inner, array)
        read = f"{name}[{index}]"
        second = S((f"{target} = ", read, " + ", writer.value(inner, kind(ctype), 2)))
        values = " = {1, 2}" if dice.chance(0.3) else ""
        return [
            S((f"{ctype} {name}[{size}]{values}",)),
            S((head,), (S((f"{name}[{index}] = ", value)),)),
            S((head,), (second,)),
        ]


def grown_function(name: str, seed: object) -> Function:
    """The function of a seed."""
    return FunctionWriter(name, seed).function()
