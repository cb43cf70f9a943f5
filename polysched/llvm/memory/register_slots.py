"""Stack slots that LLVM promotes to SSA values, without redundant loads and stores.

Within a block, a load reuses the value that was last stored or loaded. Slots without loads, such as
the slots of tiles, are removed with their stores. LLVM would do the same, but emitting and parsing
the redundant text takes time.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir


class RegisterSlots:
    """Emit loads and stores of the stack slots of one function."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.block: Any = None
        self.values: dict[int, Any] = {}
        """The current values of the slots that the current block has accessed."""
        self.stores: dict[int, Any] = {}
        """The last store to each slot in the current block."""
        self.overwritten: list[Any] = []
        self.stored: dict[int, list[Any]] = {}
        """Each slot with its stores, by the identity of the slot."""
        self.loaded: set[int] = set()

    def load(self, slot: Any) -> Any:
        """Load the current value of a slot."""
        self._enter()
        value = self.values.get(id(slot))
        if value is None:
            value = self.values[id(slot)] = self.builder.load(slot, typ=slot.allocated_type)
            self.loaded.add(id(slot))
        return value

    def store(self, value: Any, slot: Any) -> None:
        """Store a value to a slot."""
        self._enter()
        before = self.stores.get(id(slot))
        if before is not None:
            self.overwritten.append(before)
        store = self.builder.store(value, slot)
        self.values[id(slot)], self.stores[id(slot)] = value, store
        self.stored.setdefault(id(slot), [slot]).append(store)

    def drop_needless(self) -> None:
        """Remove dead stores and unused slots, at the end of the function."""
        needless = {id(store) for store in self.overwritten}
        for number, instructions in self.stored.items():
            if number not in self.loaded:
                needless.update(map(id, instructions))
        for block in self.builder.function.blocks:
            block.instructions = [
                instruction for instruction in block.instructions if id(instruction) not in needless
            ]

    def _enter(self) -> None:
        """Drop the values and stores of another block."""
        if self.builder.block is not self.block:
            self.block = self.builder.block
            self.values, self.stores = {}, {}
