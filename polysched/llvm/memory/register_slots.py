"""Stack slots that LLVM turns into SSA values, and what of them need not be written down.

Within a block the value that was stored or loaded last is taken as it is, and a slot that nothing
loads from, as those of tiles, is left out with its stores: LLVM would find the same, but it takes
text to tell it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir


class RegisterSlots:
    """Emits loads and stores of the stack slots of one function.

    Args:
        builder: positioned in the function.
    """

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.block: Any = None
        self.values: dict[int, Any] = {}
        """What the slots hold where the builder stands, of those that this block has touched."""
        self.stores: dict[int, Any] = {}
        """The last store to each slot in this block."""
        self.overwritten: list[Any] = []
        self.stored: dict[int, list[Any]] = {}
        """The slot and its stores, by its identity."""
        self.loaded: set[int] = set()

    def load(self, slot: Any) -> Any:
        """What a slot holds."""
        self._enter()
        value = self.values.get(id(slot))
        if value is None:
            value = self.values[id(slot)] = self.builder.load(slot, typ=slot.allocated_type)
            self.loaded.add(id(slot))
        return value

    def store(self, value: Any, slot: Any) -> None:
        """Let a slot hold a value."""
        self._enter()
        before = self.stores.get(id(slot))
        if before is not None:
            self.overwritten.append(before)
        store = self.builder.store(value, slot)
        self.values[id(slot)], self.stores[id(slot)] = value, store
        self.stored.setdefault(id(slot), [slot]).append(store)

    def drop_needless(self) -> None:
        """Take out stores that nothing reads, at the end of the function."""
        needless = {id(store) for store in self.overwritten}
        for number, instructions in self.stored.items():
            if number not in self.loaded:
                needless.update(map(id, instructions))
        for block in self.builder.function.blocks:
            block.instructions = [one for one in block.instructions if id(one) not in needless]

    def _enter(self) -> None:
        """Forget what another block has found."""
        if self.builder.block is not self.block:
            self.block = self.builder.block
            self.values, self.stores = {}, {}
