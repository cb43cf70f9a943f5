"""Choose random statements, loops and arrays of a program as arguments of random steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from polysched.fuzz.generate.randomness import Integers, chance, choose
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import Loop, LoopKind, Node, path, statements
from polysched.ir.core.tree import Sequence as TreeSequence
from polysched.schedule.core.program import Program

FEW_LANES = (2, 4, 3)
"""Numbers of lanes small enough to be filled at small sizes."""

MANY_LANES = (4, 8, 2, 16, 4, 8, 32, 3, 64)
"""Numbers of lanes for machine code: full and partial registers, and several registers."""


@dataclass(frozen=True)
class Choosing:
    """Random choices in a program.

    Attributes:
        number: a suffix that makes new names unique.
        lanes: the possible numbers of lanes of a vector.
    """

    integers: Integers
    program: Program
    number: int
    lanes: Sequence[int] = FEW_LANES

    def statement(self) -> str:
        """Choose a statement."""
        return choose(self.integers, list(self.program.statements))

    def around(self, statement: str) -> list[str]:
        """Return the sequential loops around a statement, sometimes all, as ``statement.loop``."""
        every = path(self.program.tree, statement)
        plain = [loop for loop in every if loop.kind is LoopKind.SEQUENTIAL]
        taken = plain if plain and chance(self.integers, 9, 10) else every
        return [f"{statement}.{loop.name}" for loop in taken]

    def loop(self) -> str:
        """Choose a loop around any statement."""
        names = [name for statement in self.program.statements for name in self.around(statement)]
        return choose(self.integers, names or ["none"])

    def nest(self) -> list[str]:
        """Choose a statement inside loops and return these loops."""
        nests = [
            names for statement in self.program.statements if (names := self.around(statement))
        ]
        return choose(self.integers, nests or [["none"]])

    def two(self) -> tuple[str, str]:
        """Choose two loops around one statement, different ones if it has two."""
        names = self.nest()
        outer = self.integers(0, len(names) - 1)
        inner = self.integers(0, len(names) - 1)
        if outer == inner:
            inner = (outer + 1) % len(names)
        first, second = sorted((outer, inner))
        return names[first], names[second]

    def neighbors(self) -> tuple[str, str]:
        """Choose two adjacent loops of a sequence, usually."""
        pairs = list(_neighbors(self.program.tree))
        if not pairs or chance(self.integers, 1, 10):
            return self.loop(), self.loop()
        return choose(self.integers, pairs)

    def array(self, *, written: bool | None = None, role: Role | None = None) -> str:
        """Choose an array with the given role that is written, or not; any array if none fits."""
        arrays = self.program.arrays
        targets = {statement.target.array for statement in self.program.statements.values()}
        fitting = [
            name
            for name, array in arrays.items()
            if (written is None or (name in targets) == written)
            and (role is None or array.role is role)
        ]
        return choose(self.integers, fitting or list(arrays))

    def reductions(self) -> list[str]:
        """Return the statements that are reductions."""
        return [name for name, statement in self.program.statements.items() if statement.reduction]

    def writers(self, array: str) -> list[str]:
        """Return the statements that write an array."""
        return [
            n for n, statement in self.program.statements.items() if statement.target.array == array
        ]

    def at(self, array: str) -> str:
        """Choose a loop around a statement that uses an array."""
        users = [
            name
            for name, statement in self.program.statements.items()
            if any(access.array == array for access in statement.accesses)
        ]
        names = [name for user in users for name in self.around(user)]
        return choose(self.integers, names) if names else self.loop()

    def name(self, stem: str) -> str:
        """Return a new name."""
        return f"{stem}{self.number}"


def _neighbors(node: Node) -> list[tuple[str, str]]:
    match node:
        case Loop(body=body):
            return _neighbors(body)
        case TreeSequence(children=children):
            pairs = [
                (_reference(first), _reference(second))
                for first, second in pairwise(children)
                if isinstance(first, Loop) and isinstance(second, Loop)
            ]
            return pairs + [pair for child in children for pair in _neighbors(child)]
    return []


def _reference(loop: Loop) -> str:
    return f"{statements(loop)[0]}.{loop.name}"
