"""Arrays of sources, and the elements that assignments access."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from polysched.errors import CallError, KernelError
from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.traversal import loads
from polysched.ir.semantics.memory import AnyArray, Memory, concrete_shape
from polysched.ir.semantics.scalar import compile_tuple
from polysched.loops.verify.sources import UNDEFINED, Initial, Sources, bracketed

Subscripts: TypeAlias = Callable[[Mapping[str, int]], tuple[int, ...]]


@dataclass(frozen=True)
class SourceMemory:
    """Arrays of source numbers."""

    sources: Sources
    values: Mapping[str, AnyArray]
    tags: Memory = field(default_factory=lambda: Memory({}))

    def open(self, arrays: Mapping[str, Array], parameters: Mapping[str, int]) -> None:
        """Create arrays with the caller's contents; temporaries are undefined."""
        for name, array in arrays.items():
            shape = concrete_shape(array.stored_shape, parameters)
            self.tags.arrays[name] = (
                np.full(shape, UNDEFINED, np.int64)
                if array.role is Role.TEMPORARY
                else self.sources.initial(name, shape)
            )

    def index(self, array: str, position: tuple[int, ...]) -> Any:
        """The value of an element that a subscript reads: it is the caller's, perhaps copied."""
        number = int(self.tags.read(array, position))
        match self.sources.known[number]:
            case Initial(array=given, element=element) if given in self.values:
                return self.values[given][element]
            case Initial(array=given):
                raise CallError(f"array '{given}' is used in subscripts; pass it in arrays=")
            case _:
                raise KernelError(
                    f"the subscript {bracketed(array, position)} holds "
                    f"{self.sources.text(number)}; expected contents of an array that the kernel "
                    "does not write"
                )


@dataclass(frozen=True)
class References:
    """The elements that an assignment writes and reads, as functions of the variables."""

    written: Subscripts
    reads: tuple[tuple[str, Subscripts], ...]

    @classmethod
    def of(
        cls, target: Access, value: Expression, index: Callable[[str, tuple[int, ...]], Any]
    ) -> References:
        """The references of ``target = value``; loads inside the target's subscripts come last."""
        read = [
            *loads(value),
            *(load for subscript in target.subscripts for load in loads(subscript)),
        ]
        return cls(
            compile_tuple(target.subscripts, index),
            tuple((load.array, compile_tuple(load.subscripts, index)) for load in read),
        )

    def evaluate(
        self, memory: SourceMemory, variables: Mapping[str, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The element written, and the sources of the elements read."""
        read = memory.tags.read
        seen = tuple([int(read(array, place(variables))) for array, place in self.reads])
        return self.written(variables), seen
