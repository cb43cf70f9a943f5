"""Random steps with arguments that are plausible for the loops at hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from polysched.ir.core.tree import Leaf, Loop, LoopKind, Node, Sequence, path
from tests.campaign.drawing import Dice
from tests.campaign.modelled_steps import Step

_WEIGHTS = {
    "split": 6, "tile": 3, "divide": 1, "reorder": 5, "collapse": 1.2, "fuse": 4,
    "distribute": 2.5, "skew": 2.5, "shift": 2.5, "reverse": 2, "unroll": 3, "vectorize": 4,
    "parallel": 3, "prefetch": 0.8, "transpose": 0.4, "stream": 0.3, "compute_at": 8, "pack": 6,
    "promote": 6, "privatize": 5, "rfactor": 6, "fold_storage": 3,
}  # fmt: skip
_ORDER_ONLY = {
    name: weight
    for name, weight in _WEIGHTS.items()
    if name
    in ("split tile reorder fuse distribute skew shift reverse unroll vectorize parallel".split())
}


class Steps:
    """Draws the next step for the schedule as it stands."""

    def __init__(self, dice: Dice, *, order_only: bool) -> None:
        self._dice = dice
        self._weights = _ORDER_ONLY if order_only else _WEIGHTS

    def next(self, program: Any) -> Step | None:
        """A step, None where nothing fits the choice that was made."""
        method = self._dice.weighted(self._weights)
        return getattr(self, f"_{method}")(program)  # type: ignore[no-any-return]

    def recipe(self, program: Any) -> list[Step]:
        """Steps as people combine them: tiles, vectors inside, unrolled loops, buffers."""
        dice = self._dice
        name = self._statement(program)
        statement, loops = program.statements[name], self._paths(program, name)
        if len(loops) < 2 or any(one.kind is not LoopKind.SEQUENTIAL for one in loops):
            return []
        chosen = dice.some([self._reference(name, one) for one in loops], 2)
        first, second = chosen
        lanes = dice.pick((4, 8, 16))
        found = [
            Step("split", (first, dice.pick((2, 3, 4, 8, 16)))),
            Step("split", (second, lanes * dice.pick((1, 1, 2)))),
            Step("reorder", (f"{first}o", f"{second}o", f"{first}i", f"{second}i")),
            Step("vectorize", (f"{second}i", lanes)),
            Step("unroll", (f"{first}i",)),
            Step("unroll", (f"{second}i",)),
        ]
        arrays = [access.array for access in statement.accesses]
        options: dict[str, Any] = {"lanes": lanes} if dice.chance(0.6) else {}
        at = dice.pick((f"{first}o", f"{second}o"))
        found += [
            Step("promote", (arrays[0], at), options),
            Step("pack", (dice.pick(arrays), at), self._order(program, dice.pick(arrays))),
            Step("transpose", (f"{second}iv", f"{first}i")),
            Step("parallel", (f"{first}o",)),
            Step("compute_at", (dice.pick(arrays), at)),
        ]
        return [one for one in found if dice.chance(0.75)]

    # What there is

    def _statement(self, program: Any) -> str:
        return self._dice.pick(list(program.statements))

    def _paths(self, program: Any, statement: str) -> tuple[Loop, ...]:
        return path(program.tree, statement)

    def _reference(self, statement: str, loop: Loop) -> str:
        return f"{statement}.{loop.name}"

    def _loop(self, program: Any, *, kinds: str = "for", innermost: bool = False) -> str | None:
        statement = self._statement(program)
        loops = [one for one in self._paths(program, statement) if one.kind.value in kinds.split()]
        if not loops:
            return None
        loop = loops[-1] if innermost else self._dice.pick(loops)
        return self._reference(statement, loop)

    def _nest(self, program: Any) -> list[str]:
        """Loops directly inside each other."""
        statement = self._statement(program)
        loops = self._paths(program, statement)
        if not loops:
            return []
        start = self._dice.between(0, len(loops) - 1)
        found = [loops[start]]
        while isinstance(found[-1].body, Loop):
            found.append(found[-1].body)
        kept = [one for one in found if one.kind is LoopKind.SEQUENTIAL]
        return [self._reference(statement, one) for one in kept]

    def _factor(self) -> int:
        return self._dice.weighted({1: 0.5, 2: 4, 3: 3, 4: 4, 5: 1.5, 7: 1, 8: 2, 16: 1})

    # Order

    def _split(self, program: Any) -> Step | None:
        loop = self._loop(program)
        return Step("split", (loop, self._factor())) if loop else None

    def _tile(self, program: Any) -> Step | None:
        nest = self._nest(program)
        if len(nest) < 2:
            return None
        chosen = tuple(nest[: self._dice.between(2, len(nest))])
        return Step("tile", (chosen, tuple(self._factor() for _ in chosen)))

    def _divide(self, program: Any) -> Step | None:
        loop = self._loop(program)
        unit = {} if self._dice.chance(0.6) else {"unit": self._factor()}
        return Step("divide", (loop, self._dice.pick((1, 2, 3, 4, 5))), unit) if loop else None

    def _reorder(self, program: Any) -> Step | None:
        nest = self._nest(program)
        if len(nest) < 2:
            return None
        return Step("reorder", tuple(self._dice.some(nest, self._dice.between(2, len(nest)))))

    def _collapse(self, program: Any) -> Step | None:
        nest = self._nest(program)
        return Step("collapse", (nest[0], nest[1], "c")) if len(nest) > 1 else None

    def _fuse(self, program: Any) -> Step | None:
        pairs = list(_neighbors(program.tree))
        if not pairs:
            return None
        first, second = self._dice.pick(pairs)
        names = [self._reference(one.statements[0], one) for one in (first, second)]
        into = {} if self._dice.chance(0.6) else {"into": "f"}
        return Step("fuse", tuple(names), into)

    def _distribute(self, program: Any) -> Step | None:
        statement = self._statement(program)
        loops = [one for one in self._paths(program, statement) if isinstance(one.body, Sequence)]
        if not loops:
            return None
        loop = self._dice.pick(loops)
        after = {} if self._dice.chance(0.5) else {"after": self._dice.pick(loop.statements)}
        return Step("distribute", (self._reference(statement, loop),), after)

    def _skew(self, program: Any) -> Step | None:
        statement = self._statement(program)
        loops = self._paths(program, statement)
        if len(loops) < 2:
            return None
        at = self._dice.between(1, len(loops) - 1)
        by = self._dice.between(0, at - 1)
        names = [self._reference(statement, loops[i]) for i in (at, by)]
        return Step("skew", (*names, self._dice.pick((1, 1, 1, 2, -1, -2, 3))))

    def _shift(self, program: Any) -> Step | None:
        statement = self._statement(program)
        loops = self._paths(program, statement)
        if not loops:
            return None
        loop = self._dice.pick(loops)
        name = self._reference(statement, loop)
        one = {} if self._dice.chance(0.3) else {"statement": self._dice.pick(loop.statements)}
        return Step("shift", (name, self._dice.pick((1, 1, 2, 3, -1, -2, 7))), one)

    def _reverse(self, program: Any) -> Step | None:
        loop = self._loop(program)
        return Step("reverse", (loop,)) if loop else None

    # How loops run

    def _unroll(self, program: Any) -> Step | None:
        loop = self._loop(program, innermost=self._dice.chance(0.6))
        factor = {} if self._dice.chance(0.4) else {"factor": self._dice.pick((2, 3, 4))}
        return Step("unroll", (loop,), factor) if loop else None

    def _vectorize(self, program: Any) -> Step | None:
        loop = self._loop(program, innermost=self._dice.chance(0.7))
        return Step("vectorize", (loop, self._dice.pick((2, 4, 8, 16)))) if loop else None

    def _parallel(self, program: Any) -> Step | None:
        loop = self._loop(program)
        return Step("parallel", (loop,)) if loop else None

    def _prefetch(self, program: Any) -> Step | None:
        loop, array = self._loop(program), self._read(program)
        options = {"ahead": self._dice.between(1, 9), "level": self._dice.between(1, 3)}
        return Step("prefetch", (array, loop), options) if loop and array else None

    def _transpose(self, program: Any) -> Step | None:
        vector = self._loop(program, kinds="vector")
        unrolled = self._loop(program, kinds="unrolled")
        return Step("transpose", (vector, unrolled)) if vector and unrolled else None

    def _stream(self, program: Any) -> Step | None:
        return Step("stream", (self._array(program),))

    # Where values are

    def _array(self, program: Any) -> str:
        return self._dice.pick(list(program.arrays))

    def _read(self, program: Any) -> str | None:
        found = [a.array for s in program.statements.values() for a in s.accesses[1:]]
        return self._dice.pick(found) if found else None

    def _order(self, program: Any, array: str) -> dict[str, Any]:
        names = list(program.arrays[array].dimensions)
        if len(names) < 2 or self._dice.chance(0.7):
            return {}
        return {"order": tuple(self._dice.some(names, len(names)))}

    def _places(self, program: Any, array: str, position: int | None = None) -> list[str]:
        """The loops around the statements that access an array."""
        return [
            self._reference(name, loop)
            for name, statement in program.statements.items()
            if any(
                access.array == array and position in (None, min(at, 1))
                for at, access in enumerate(statement.accesses)
            )
            for loop in self._paths(program, name)
            if loop.kind in (LoopKind.SEQUENTIAL, LoopKind.PARALLEL)
        ]

    def _own(self, program: Any) -> str | None:
        """A temporary array or a buffer."""
        arguments = {
            name for name, one in program.kernel.arrays.items() if one.role.value != "temporary"
        }
        found = [name for name in program.arrays if name not in arguments]
        return self._dice.pick(found) if found else None

    def _compute_at(self, program: Any) -> Step | None:
        dice = self._dice
        pairs = [
            (writer, reader)
            for writer, one in program.statements.items()
            for reader, other in program.statements.items()
            if writer != reader
            and one.accesses[0].array in {access.array for access in other.accesses[1:]}
            and one.accesses[0].array != other.accesses[0].array
        ]
        if not pairs:
            return None
        writer, reader = dice.pick(pairs)
        array = program.statements[writer].accesses[0].array
        writers = [name for name, s in program.statements.items() if s.accesses[0].array == array]
        own = {id(loop) for name in writers for loop in self._paths(program, name)}
        loops = [one for one in self._paths(program, reader) if id(one) not in own]
        if not loops:
            return None
        producer = array if dice.chance(0.7) else writer
        options = {"recompute": True} if dice.chance(0.35) else {}
        return Step("compute_at", (producer, self._reference(reader, dice.pick(loops))), options)

    def _pack(self, program: Any) -> Step | None:
        array = self._read(program)
        if array is None:
            return None
        places = self._places(program, array, 1)
        if not places:
            return None
        return Step("pack", (array, self._dice.pick(places)), self._order(program, array))

    def _promote(self, program: Any) -> Step | None:
        array = program.statements[self._statement(program)].accesses[0].array
        places = self._places(program, array, 0)
        if not places:
            return None
        options = {} if self._dice.chance(0.7) else {"lanes": self._dice.pick((2, 4, 8))}
        order = self._order(program, array)
        return Step("promote", (array, self._dice.pick(places)), {**options, **order})

    def _privatize(self, program: Any) -> Step | None:
        array = self._own(program)
        places = self._places(program, array) if array else []
        return Step("privatize", (array, self._dice.pick(places))) if places else None

    def _rfactor(self, program: Any) -> Step | None:
        found = [name for name, one in program.statements.items() if one.reduction is not None]
        if not found:
            return None
        statement = self._dice.pick(found)
        loops = self._paths(program, statement)
        if not loops:
            return None
        return Step("rfactor", (statement, self._reference(statement, self._dice.pick(loops))))

    def _fold_storage(self, program: Any) -> Step | None:
        array = self._own(program)
        names = program.arrays[array].dimensions if array else ()
        if not names:
            return None
        return Step(
            "fold_storage", (array, self._dice.pick(names), self._dice.pick((1, 2, 3, 4, 8)))
        )


def _neighbors(node: Node) -> Any:
    """Pairs of loops of which one stands directly behind the other."""
    match node:
        case Leaf():
            return
        case Loop(body=body):
            yield from _neighbors(body)
        case Sequence(children=children):
            for one, other in pairwise(children):
                if isinstance(one, Loop) and isinstance(other, Loop):
                    yield one, other
            for child in children:
                yield from _neighbors(child)
