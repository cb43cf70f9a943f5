"""Points in long straight-line code that LLVM moves no access across.

LLVM's schedulers ask of each two accesses of a block whether they may touch the same memory, and do
so twice, before and after registers are allocated: a thousand stores one behind the other take
seconds. A fence for one thread is no instruction; it starts the schedulers' books anew. What has
been loaded before it is loaded again, so it comes only where much has been touched, beyond what a
tile in registers ever needs.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from llvmlite import ir

MOST_ADDRESSES = 192
"""Addresses that one block touches between two fences; some 60 ms of LLVM's time at worst."""


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
