"""The builder of a function's instructions, quicker than llvmlite's own.

Half of the time that code takes to be written down went to llvmlite's objects for loads, stores,
addresses, shuffles and arithmetic, which are nearly all there is, and to their text. Here such an
instruction is its text from the beginning. All others are llvmlite's, and all work together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from polysched.errors import CodeTooLargeError
from polysched.llvm.builder.intrinsics import vector_type

MOST_INSTRUCTIONS = 400_000
"""Instructions of a function; half a minute of LLVM's. The largest library kernels have 10,000."""

_POINTER = ir.PointerType()
_VOID = ir.VoidType()


class Line(ir.values.Value):  # type: ignore[misc]  # llvmlite is untyped
    """An instruction that is kept as text.

    Attributes:
        parent: the block.
        type: of its value.
        reference: its value's name, empty if it has none.
        text: all but the alignment.
        align: of an access to memory, in bytes.
    """

    def __init__(self, parent: Any, type_: Any, reference: str, text: str) -> None:
        self.parent = parent
        self.type = type_
        self.reference = reference
        self.text = text
        self.align: int | None = None
        self.notes = ""

    @property
    def function(self) -> Any:
        """The function that it is in."""
        return self.parent.function

    def get_reference(self) -> str:
        """How other instructions name its value."""
        return self.reference

    def set_metadata(self, name: str, node: Any) -> None:
        """Attach metadata."""
        self.notes += f", !{name} {node.get_reference()}"

    def __str__(self) -> str:
        made = f"{self.reference} = {self.text}" if self.reference else self.text
        aligned = made if self.align is None else f"{made}, align {self.align}"
        return aligned + self.notes


class FunctionBuilder(ir.IRBuilder):  # type: ignore[misc]
    """Writes the instructions of one function; it alone names values as it does."""

    def __init__(self, block: Any) -> None:
        super().__init__(block)
        self.count = 0
        self.inserted = 0

    def load(self, ptr: Any, name: str = "", align: int | None = None, typ: Any = None) -> Any:
        """The value of a type at an address."""
        made = self._line(typ, f"load {typ}, ptr {ptr.get_reference()}")
        made.align = align
        return made

    def store(self, value: Any, ptr: Any, align: int | None = None) -> Any:
        """Write a value to an address."""
        text = f"store {value.type} {value.get_reference()}, ptr {ptr.get_reference()}"
        made = Line(self._block, _VOID, "", text)
        made.align = align
        self._insert(made)
        return made

    def gep(
        self,
        ptr: Any,
        indices: Sequence[Any],
        inbounds: bool = False,
        name: str = "",
        source_etype: Any = None,
    ) -> Any:
        """An address so many elements further on."""
        places = ", ".join([f"{one.type} {one.get_reference()}" for one in indices])
        word = "getelementptr inbounds" if inbounds else "getelementptr"
        return self._line(_POINTER, f"{word} {source_etype}, ptr {ptr.get_reference()}, {places}")

    def shuffle_vector(self, vector1: Any, vector2: Any, mask: Any, name: str = "") -> Any:
        """Lanes of two vectors of one type, counted through both."""
        given = vector1.type
        text = (
            f"shufflevector {given} {vector1.get_reference()}, {given} {vector2.get_reference()}, "
            f"{mask.type} {mask.get_reference()}"
        )
        return self._line(vector_type(given.element, mask.type.count), text)

    def insert_element(self, vector: Any, value: Any, idx: Any, name: str = "") -> Any:
        """A vector with another value in one lane."""
        text = (
            f"insertelement {vector.type} {vector.get_reference()}, "
            f"{value.type} {value.get_reference()}, {idx.type} {idx.get_reference()}"
        )
        return self._line(vector.type, text)

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """The sum of integers."""
        return self._of_two("add", lhs, rhs, flags)

    def mul(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """The product of integers."""
        return self._of_two("mul", lhs, rhs, flags)

    def fadd(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """The sum of floating-point numbers."""
        return self._of_two("fadd", lhs, rhs, flags)

    def fmul(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """The product of floating-point numbers."""
        return self._of_two("fmul", lhs, rhs, flags)

    def select(
        self, cond: Any, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()
    ) -> Any:
        """One of two values."""
        text = (
            f"select {cond.type} {cond.get_reference()}, {lhs.type} {lhs.get_reference()}, "
            f"{rhs.type} {rhs.get_reference()}"
        )
        return self._line(lhs.type, text)

    def freeze(self, value: Any) -> Any:
        """The value; anything, but one thing for all who use it, where it is not defined."""
        return self._line(value.type, f"freeze {value.type} {value.get_reference()}")

    def _of_two(self, word: str, lhs: Any, rhs: Any, flags: Sequence[str]) -> Any:
        words = " ".join([word, *flags])
        text = f"{words} {lhs.type} {lhs.get_reference()}, {rhs.get_reference()}"
        return self._line(lhs.type, text)

    def _insert(self, instr: Any) -> None:
        self.inserted += 1
        if self.inserted > MOST_INSTRUCTIONS:
            raise CodeTooLargeError(
                f"function '{self.function.name}' would have more than {MOST_INSTRUCTIONS:,} "
                "instructions, which take minutes to compile: unroll less, or take fewer lanes, "
                "above all of packed elements that are read or written one by one"
            )
        super()._insert(instr)

    def _line(self, type_: Any, text: str) -> Any:
        # No name of llvmlite's begins like that, nor does an identifier.
        self.count += 1
        made = Line(self._block, type_, f"%.v{self.count}", text)
        self._insert(made)
        return made
