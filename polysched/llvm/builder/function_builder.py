"""Fast builder of a function's instructions, on top of llvmlite's builder.

Most instructions are loads, stores, addresses, shuffles and arithmetic. Half of the emission time
went to llvmlite's objects for these instructions, and to printing them. This builder creates such
an instruction directly as text. All other instructions are llvmlite's objects; both kinds can be
mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from llvmlite.ir.values import FunctionAttributes

from polysched.errors import CodeTooLargeError
from polysched.llvm.builder.intrinsics import vector_type

MOST_INSTRUCTIONS = 400_000
"""Most instructions of a function: LLVM takes half a minute for as many. The largest library
kernels have 10,000.
"""

_POINTER = ir.PointerType()
_VOID = ir.VoidType()


class Line(ir.values.Value):  # type: ignore[misc]  # llvmlite is untyped
    """An instruction stored as text.

    Attributes:
        parent: the block that contains the instruction.
        reference: the name of its value; empty if it has no value.
        text: the instruction without its alignment.
        align: the alignment of a memory access in bytes; None for other instructions.
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
        """The function that contains the instruction."""
        return self.parent.function

    def get_reference(self) -> str:
        """The name of the value in the operands of other instructions."""
        return self.reference

    def set_metadata(self, name: str, node: Any) -> None:
        """Attach metadata."""
        self.notes += f", !{name} {node.get_reference()}"

    def __str__(self) -> str:
        text = f"{self.reference} = {self.text}" if self.reference else self.text
        aligned = text if self.align is None else f"{text}, align {self.align}"
        return aligned + self.notes


class FunctionBuilder(ir.IRBuilder):  # type: ignore[misc]
    """Builder of one function's instructions, with unique names for their values."""

    def __init__(self, block: Any) -> None:
        super().__init__(block)
        self.count = 0
        self.inserted = 0

    def load(self, ptr: Any, name: str = "", align: int | None = None, typ: Any = None) -> Any:
        """Load a value of a type from an address."""
        line = self._line(typ, f"load {typ}, ptr {ptr.get_reference()}")
        line.align = align
        return line

    def store(self, value: Any, ptr: Any, align: int | None = None) -> Any:
        """Store a value to an address."""
        text = f"store {value.type} {value.get_reference()}, ptr {ptr.get_reference()}"
        line = Line(self._block, _VOID, "", text)
        line.align = align
        self._insert(line)
        return line

    def gep(
        self,
        ptr: Any,
        indices: Sequence[Any],
        inbounds: bool = False,
        name: str = "",
        source_etype: Any = None,
    ) -> Any:
        """Compute the address of an element."""
        index_list = ", ".join([f"{index.type} {index.get_reference()}" for index in indices])
        word = "getelementptr inbounds" if inbounds else "getelementptr"
        return self._line(
            _POINTER, f"{word} {source_etype}, ptr {ptr.get_reference()}, {index_list}"
        )

    def shuffle_vector(self, vector1: Any, vector2: Any, mask: Any, name: str = "") -> Any:
        """Select lanes of two vectors of the same type; lane numbers count through both vectors."""
        given = vector1.type
        text = (
            f"shufflevector {given} {vector1.get_reference()}, {given} {vector2.get_reference()}, "
            f"{mask.type} {mask.get_reference()}"
        )
        return self._line(vector_type(given.element, mask.type.count), text)

    def insert_element(self, vector: Any, value: Any, idx: Any, name: str = "") -> Any:
        """Replace one lane of a vector."""
        text = (
            f"insertelement {vector.type} {vector.get_reference()}, "
            f"{value.type} {value.get_reference()}, {idx.type} {idx.get_reference()}"
        )
        return self._line(vector.type, text)

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """Add integers."""
        return self._of_two("add", lhs, rhs, flags)

    def mul(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """Multiply integers."""
        return self._of_two("mul", lhs, rhs, flags)

    def fadd(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """Add floating-point numbers."""
        return self._of_two("fadd", lhs, rhs, flags)

    def fmul(self, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()) -> Any:
        """Multiply floating-point numbers."""
        return self._of_two("fmul", lhs, rhs, flags)

    def select(
        self, cond: Any, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()
    ) -> Any:
        """Select one of two values by a condition."""
        text = (
            f"select {cond.type} {cond.get_reference()}, {lhs.type} {lhs.get_reference()}, "
            f"{rhs.type} {rhs.get_reference()}"
        )
        return self._line(lhs.type, text)

    def freeze(self, value: Any) -> Any:
        """Freeze a value: if it is undefined, all users see the same arbitrary value."""
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
        # Neither llvmlite's names nor identifiers begin with this prefix.
        self.count += 1
        line = Line(self._block, type_, f"%.v{self.count}", text)
        self._insert(line)
        return line


class _Attributes(FunctionAttributes):  # type: ignore[misc]  # llvmlite is untyped
    """Function attributes; ``no-builtins`` keeps LLVM from calling memcpy for small tiles."""

    _known = FunctionAttributes._known | {'"no-builtins"'}

    def add_effects(self, memory: str) -> None:
        """Declare the function's only effects, accesses of memory such as ``argmem: read``."""
        set.update(self, {f"memory({memory})", "willreturn"})

    def add_pair(self, key: str, value: str) -> None:
        """Add an LLVM attribute with a name and a value."""
        set.add(self, f'"{key}"="{value}"')


def new_function(
    module: ir.Module, name: str, signature: ir.FunctionType, *, internal: bool = False
) -> tuple[ir.Function, ir.IRBuilder]:
    """Create a function, and a builder at the start of its entry block."""
    function = ir.Function(module, signature, name)
    function.attributes = _Attributes()
    function.attributes.add("nounwind")
    function.attributes.add('"no-builtins"')
    if internal:
        function.linkage = "internal"
    return function, FunctionBuilder(function.append_basic_block("entry"))


def compile_for(function: ir.Function, cpu: str, features: str) -> None:
    """Compile a function of `new_function` for another processor than the rest of its module."""
    function.attributes.add_pair("target-cpu", cpu)
    function.attributes.add_pair("target-features", features)
