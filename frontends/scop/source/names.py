"""Unique names for arrays, loops and statements; C may reuse a name in several blocks."""

from __future__ import annotations


class Names:
    """Generator of unique names: a name that is taken gets a number.

    Args:
        taken: names that are taken from the start.
    """

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)

    @property
    def count(self) -> int:
        """Number of names that are taken."""
        return len(self._taken)

    def fresh(self, name: str, also_taken: tuple[str, ...] = ()) -> str:
        """Return a unique name and reserve it."""
        unique = self.free(name, also_taken)
        self._taken.add(unique)
        return unique

    def free(self, name: str, also_taken: tuple[str, ...] = ()) -> str:
        """Return a unique name without reserving it."""
        candidate, number = name, 1
        while candidate in self._taken or candidate in also_taken:
            number += 1
            candidate = f"{name}_{number}"
        return candidate
