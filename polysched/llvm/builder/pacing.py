"""Compiler fences in long straight-line code, across which LLVM moves no memory access.

LLVM's schedulers test every pair of accesses in a block for aliasing, before and after register
allocation: a sequence of a thousand stores takes seconds. A single-thread fence emits no
instruction, and resets the schedulers' dependence sets. Values loaded before a fence are loaded
again, so a fence follows only blocks that access more addresses than any register tile.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from llvmlite import ir

MOST_ADDRESSES = 192
"""Addresses that a block accesses between two fences: at most about 60 ms of LLVM's time."""


class Pace:
    """Counter of the addresses that the current basic block accesses."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.block: Any = None
        self.touched: set[tuple[Hashable, int]] = set()

    def touch(self, base: Hashable, displacement: int) -> None:
        """Count an address once.

        Args:
            base: equal for equal addresses, so that accesses that LLVM merges count once.
            displacement: bytes, or the number of a lane.
        """
        if self.builder.block is not self.block:
            self.block = self.builder.block
            self.touched = set()
        self.touched.add((base, displacement))

    def rest(self) -> None:
        """End a statement; emit a fence if the block has accessed too many addresses."""
        if len(self.touched) >= MOST_ADDRESSES and self.builder.block is self.block:
            self.builder.fence("acq_rel", "singlethread")
            self.touched = set()
