"""Base class of symbolic numbers: Python protocols that need a concrete value raise errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from polysched.errors import KernelError, NoAttributeError


class SymbolicNumber:
    """A symbolic number, which has no concrete value while the kernel is declared."""

    def __bool__(self) -> bool:
        raise KernelError(
            f"'{self}' has no truth value while the kernel is declared; write "
            "ps.select(condition, a, b), ps.minimum(a, b) or ps.maximum(a, b), join conditions "
            "with & and |, and compare with ps.equal(a, b)"
        )

    def __iter__(self) -> Iterator[NoReturn]:
        raise KernelError(
            f"'{self}' is one value and cannot be taken apart; one loop gives one index: 'with "
            "build.loops(i=n) as i:'"
        )

    def __index__(self) -> int:
        raise KernelError(
            f"'{self}' has no value while the kernel is declared, so range() and list subscripts "
            "cannot take it; loops are 'with build.loops(i=n) as i:'"
        )

    def _refuse_sequence_protocol(self, *_: object) -> NoReturn:
        raise KernelError(
            f"'{self}' is a single number: it has no elements, and no length; write loops over "
            "the elements of arrays, 'with build.loops(i=n) as i:'"
        )

    # No __getitem__, because numpy would then treat expressions as sequences.
    __len__ = __contains__ = __reversed__ = _refuse_sequence_protocol

    def __float__(self) -> float:
        raise KernelError(
            f"'{self}' has no value while the kernel is declared, so float(), int() and the "
            "functions of math cannot take it; call functions of numpy, np.sqrt(x), and convert "
            "with cast(x, f32)"
        )

    __int__ = __trunc__ = __float__

    if not TYPE_CHECKING:  # so that type checkers still report unknown attributes

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):  # Python and numpy probe for private attributes
                raise AttributeError(name)
            raise NoAttributeError(
                f"'{self}' has no '{name}': it is a number, not an array; call functions of numpy, "
                "np.sqrt(x), and convert with cast(x, f32)"
            )

    def __matmul__(self, other: object) -> NoReturn:
        raise KernelError(
            f"'@' of '{self}' and {other}: these are single numbers; write a sum of products in "
            "loops, as in c[i, j] += a[i, k] * b[k, j]"
        )

    __rmatmul__ = __matmul__
