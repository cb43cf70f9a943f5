"""A call of a kernel whose arguments have been checked in advance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from polysched.errors import OutOfMemoryError


@dataclass(frozen=True, eq=False)
class BoundCall:
    """A kernel with its arguments, made by ``kernel.bind(...)``; ``call()`` runs it.

    The arguments are checked once, by ``bind``. A call only checks the values of index arrays.
    It returns the same result as the kernel, always in the same arrays: outputs that were left out
    are allocated and zeroed once. The arrays are kept alive, and their elements may change between
    calls. Several threads may call at the same time only if the kernel writes the same values to
    the same elements in all of them.

    The caller must not move or shrink the memory of the arrays, as
    ``array.resize(..., refcheck=False)`` does: the kernel would use freed memory.

    Attributes:
        result: the output, a tuple if there are several, None if there is none.
    """

    kernel: str
    result: Any = field(repr=False)
    _run: Callable[[], int] = field(repr=False)
    _check_values: Callable[[], None] | None = field(repr=False)
    _arrays: tuple[Any, ...] = field(repr=False)

    def __call__(self) -> Any:
        """Run the kernel.

        Raises:
            CallError: a value of an index array is out of range. Nothing has been written then.
            OutOfMemoryError: there is no memory for the kernel's workspace.
        """
        if self._check_values is not None:
            self._check_values()
        if self._run():
            raise no_workspace(self.kernel)
        return self.result


def no_workspace(kernel: str) -> OutOfMemoryError:
    """The error about a kernel that could not allocate its workspace."""
    return OutOfMemoryError(f"kernel '{kernel}': no memory for its workspace; nothing was written")
