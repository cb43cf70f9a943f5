"""Cache of the vectors that instruction calls of one basic block have loaded.

LLVM would find the same, but it has to read the text of every unrolled copy first.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


class Loaded:
    """The loaded vectors of the current block, by access."""

    def __init__(self) -> None:
        self.block: Any = None
        self.values: dict[Hashable, Any] = {}

    def of(self, block: Any) -> dict[Hashable, Any]:
        """The vectors of a block; none at its beginning."""
        if block is not self.block:
            self.block, self.values = block, {}
        return self.values

    def forget(self) -> None:
        """Drop all vectors, because memory is written."""
        self.block = None
