"""Array handles of the kernel builder: subscripting reads, assignment declares a statement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from polysched.errors import KernelError
from polysched.ir.core.kernel import Array
from polysched.ir.declare.statements import Statements
from polysched.ir.expr.expressions import Load, Operand


@dataclass(frozen=True)
class ArrayHandle:
    """Handle of a declared array: ``a[i, j]`` reads, ``a[i, j] = e`` declares a statement."""

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
        # Without this method Python would iterate over a[0], a[1], ... forever.
        raise KernelError(
            f"array '{self.array.name}' cannot be iterated over; subscript it inside loops(...)"
        )

    def __repr__(self) -> str:
        return f"array '{self.array.name}'"

    def _refuse_whole_array(self, *_: object, **__: object) -> NoReturn:
        """Raise an error for an operation on the whole array."""
        element = f"{self.array.name}[{', '.join(self.array.dimensions)}]"
        raise KernelError(
            f"array '{self.array.name}' cannot stand in an expression as a whole; write one of its "
            f"elements, {element}, inside loops(...)"
        )

    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = (
        _refuse_whole_array
    )
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = _refuse_whole_array
    __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __matmul__ = _refuse_whole_array
    __neg__ = __invert__ = __abs__ = __float__ = __array_ufunc__ = _refuse_whole_array
    __len__ = __contains__ = _refuse_whole_array

    def __setitem__(self, subscripts: Operand | tuple[Operand, ...], value: Operand) -> None:
        self.statements.add(self.array, subscripts, value)
