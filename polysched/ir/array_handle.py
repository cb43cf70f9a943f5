"""Arrays as a declaration writes them: elements that are read and assigned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from polysched.errors import KernelError
from polysched.ir.expressions import Load, Operand
from polysched.ir.kernel import Array
from polysched.ir.statements import Statements


@dataclass(frozen=True)
class ArrayHandle:
    """An array in a declaration: ``a[i, j]`` reads, ``a[i, j] = e`` declares a statement."""

    array: Array
    statements: Statements = field(repr=False)

    def __getitem__(self, subscripts: Operand | tuple[Operand, ...]) -> Load:
        return Load(
            self.array.name,
            self.statements.subscripts(self.array, subscripts),
            self.array.dtype,
            self.statements.here(),
            self.array.values,
        )

    def __iter__(self) -> Iterator[Load]:
        # Without this Python would iterate over a[0], a[1], ... without end.
        raise KernelError(
            f"array '{self.array.name}' cannot be iterated over; subscript it inside loops(...)"
        )

    def __setitem__(self, subscripts: Operand | tuple[Operand, ...], value: Operand) -> None:
        self.statements.add(self.array, subscripts, value)
