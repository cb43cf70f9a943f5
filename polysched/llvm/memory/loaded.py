"""Cache of the vectors that instruction calls load in a basic block.

LLVM would eliminate the same loads, but would have to parse every unrolled copy first.
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
        """The loaded vectors of a block; empty at the start of the block."""
        if block is not self.block:
            self.block, self.values = block, {}
        return self.values

    def forget(self) -> None:
        """Drop all vectors after a store."""
        self.block = None
