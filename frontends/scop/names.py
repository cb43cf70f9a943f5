"""Names of arrays, loops and statements in the kernel, where C may use one name several times."""

from __future__ import annotations


class Names:
    """Hands out names; of one that is taken, the next with a number.

    Args:
        taken: names that nothing new may have.
    """

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)

    @property
    def count(self) -> int:
        """Names that are taken."""
        return len(self._taken)

    def fresh(self, name: str, also_taken: tuple[str, ...] = ()) -> str:
        """A name that is not taken, and from now on is."""
        found = self.free(name, also_taken)
        self._taken.add(found)
        return found

    def free(self, name: str, also_taken: tuple[str, ...] = ()) -> str:
        """A name that is not taken."""
        candidate, number = name, 1
        while candidate in self._taken or candidate in also_taken:
            number += 1
            candidate = f"{name}_{number}"
        return candidate
