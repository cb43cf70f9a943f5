"""What a block of code has loaded and nothing has written since.

LLVM would find that too; but each copy of an unrolled statement is text that it has to read first.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


class Loaded:
    """The loaded values of the block in which code is emitted, by what they are."""

    def __init__(self) -> None:
        self.block: Any = None
        self.values: dict[Hashable, Any] = {}

    def of(self, block: Any) -> dict[Hashable, Any]:
        """Those of a block, nothing at its beginning."""
        if block is not self.block:
            self.block, self.values = block, {}
        return self.values

    def forget(self) -> None:
        """Something is written."""
        self.block = None
