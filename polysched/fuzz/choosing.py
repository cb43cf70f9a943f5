"""What a random step is made of: some statement, loop, array of a program, or none that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from polysched.fuzz.randomness import Integers, chance, choose
from polysched.ir.kernel import Role
from polysched.ir.tree import Loop, LoopKind, Node, path, statements
from polysched.ir.tree import Sequence as TreeSequence
from polysched.schedule.program import Program

FEW_LANES = (2, 4, 3)
"""Lanes of vectors that small sizes fill."""

MANY_LANES = (4, 8, 2, 16, 4, 8, 32, 3, 64)
"""Lanes of vectors for machine code: of all kinds of registers, and none."""


@dataclass(frozen=True)
class Choosing:
    """A program, a number that makes new names new, and the lanes that vectors may have."""

    integers: Integers
    program: Program
    number: int
    lanes: Sequence[int] = FEW_LANES

    def statement(self) -> str:
        """Any statement."""
        return choose(self.integers, list(self.program.statements))

    def around(self, statement: str) -> list[str]:
        """The loops around a statement that steps may take, ``statement.loop``; at times all."""
        every = path(self.program.tree, statement)
        plain = [loop for loop in every if loop.kind is LoopKind.SEQUENTIAL]
        taken = plain if plain and chance(self.integers, 9, 10) else every
        return [f"{statement}.{loop.name}" for loop in taken]

    def loop(self) -> str:
        """Any loop around any statement."""
        names = [name for one in self.program.statements for name in self.around(one)]
        return choose(self.integers, names or ["none"])

    def nest(self) -> list[str]:
        """The loops around one statement that has any."""
        nests = [names for one in self.program.statements if (names := self.around(one))]
        return choose(self.integers, nests or [["none"]])

    def two(self) -> tuple[str, str]:
        """Two loops around one statement, mostly different ones."""
        names = self.nest()
        outer = self.integers(0, len(names) - 1)
        inner = self.integers(0, len(names) - 1)
        if outer == inner:
            inner = (outer + 1) % len(names)
        first, second = sorted((outer, inner))
        return names[first], names[second]

    def neighbors(self) -> tuple[str, str]:
        """Two loops of which one stands directly before the other, if there are any."""
        pairs = list(_neighbors(self.program.tree))
        if not pairs or chance(self.integers, 1, 10):
            return self.loop(), self.loop()
        return choose(self.integers, pairs)

    def array(self, *, written: bool | None = None, role: Role | None = None) -> str:
        """Any array; mostly one that is written, or not, or that has the given role."""
        arrays = self.program.arrays
        targets = {one.target.array for one in self.program.statements.values()}
        fitting = [
            name
            for name, array in arrays.items()
            if (written is None or (name in targets) == written)
            and (role is None or array.role is role)
        ]
        return choose(self.integers, fitting or list(arrays))

    def at(self, array: str) -> str:
        """A loop around a statement that uses an array."""
        users = [
            name
            for name, statement in self.program.statements.items()
            if any(access.array == array for access in statement.accesses)
        ]
        names = [name for one in users for name in self.around(one)]
        return choose(self.integers, names) if names else self.loop()

    def name(self, stem: str) -> str:
        """A new name."""
        return f"{stem}{self.number}"


def _neighbors(node: Node) -> list[tuple[str, str]]:
    match node:
        case Loop(body=body):
            return _neighbors(body)
        case TreeSequence(children=children):
            found = [
                (_reference(first), _reference(second))
                for first, second in pairwise(children)
                if isinstance(first, Loop) and isinstance(second, Loop)
            ]
            return found + [pair for child in children for pair in _neighbors(child)]
    return []


def _reference(loop: Loop) -> str:
    return f"{statements(loop)[0]}.{loop.name}"
