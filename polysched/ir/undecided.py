"""Numbers without a value yet: what Python asks of numbers and sequences, and they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from polysched.errors import KernelError, NoAttributeError


class Undecided:
    """A single number that has no value while the kernel is declared."""

    def __bool__(self) -> bool:
        raise KernelError(
            f"'{self}' has no truth value while the kernel is declared; write select(condition, a, "
            "b), minimum(a, b) or maximum(a, b), join conditions with & and |, and compare with "
            "equal(a, b)"
        )

    def __iter__(self) -> Iterator[NoReturn]:
        raise KernelError(
            f"'{self}' is one value and cannot be taken apart; one loop gives one index: 'with "
            "build.loops(i=n) as i:'"
        )

    def __index__(self) -> int:
        raise KernelError(
            f"'{self}' has no value while the kernel is declared, as range() and subscripts of "
            "lists want it; loops are 'with build.loops(i=n) as i:'"
        )

    def _as_an_array(self, *_: object) -> NoReturn:
        raise KernelError(
            f"'{self}' is a single number: it has no elements, and no length; write loops over "
            "those of arrays, 'with build.loops(i=n) as i:'"
        )

    # No __getitem__: by that numpy would take expressions for sequences.
    __len__ = __contains__ = __reversed__ = _as_an_array

    def __float__(self) -> float:
        raise KernelError(
            f"'{self}' has no value while the kernel is declared, as float(), int() and the "
            "functions of math want it; those of numpy may be called, np.sqrt(x), and cast(x, f32) "
            "converts"
        )

    __int__ = __trunc__ = __float__

    if not TYPE_CHECKING:  # which is to know of every attribute whether there is one

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):  # Python and numpy ask for those by themselves
                raise AttributeError(name)
            raise NoAttributeError(
                f"'{self}' has no '{name}': it is a number, not an array; functions of numpy may "
                "be called, np.sqrt(x), and cast(x, f32) converts"
            )

    def __matmul__(self, other: object) -> NoReturn:
        raise KernelError(
            f"'@' of '{self}' and {other}: these are single numbers; write a sum of products in "
            "loops, as in c[i, j] += a[i, k] * b[k, j]"
        )

    __rmatmul__ = __matmul__
