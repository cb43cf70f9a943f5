"""Find instructions by name, by meaning and by processor."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeAlias

from polysched.errors import InstructionError, suggestion
from polysched.instructions import byte_differences
from polysched.instructions.amx import AMX_INSTRUCTIONS, amx_forms
from polysched.instructions.declaration import Instruction
from polysched.instructions.matching import fits
from polysched.instructions.x86 import x86_instructions
from polysched.ir.expr.dtypes import DType

Forms: TypeAlias = tuple[Instruction, ...]
"""The forms of one instruction: vector lengths and encodings, the best first."""


def instruction_forms(
    instruction: str | Instruction, declared: Mapping[str, Forms]
) -> tuple[str, Forms]:
    """Return the name and the forms of an instruction.

    Args:
        instruction: the name of a known instruction, or an instruction that the caller declares.
        declared: the instructions that earlier steps have used, by name.
    """
    name = instruction if isinstance(instruction, str) else instruction.name
    known = known_forms(name) or declared.get(name, ())
    if isinstance(instruction, str):
        if not known:
            names = [*x86_instructions(), *AMX_INSTRUCTIONS, byte_differences.NAME, *declared]
            raise InstructionError(
                f"no instruction '{name}'{suggestion(name, names)}; declare others as "
                "ps.Instruction"
            )
        return name, known
    if known and instruction not in known:
        raise InstructionError(
            f"another instruction is called '{name}'; give the kernel of this one another name"
        )
    return name, known or (instruction,)


def known_forms(name: str) -> Forms:
    """Return the forms of an instruction that polysched declares; none if it declares none."""
    if name == byte_differences.NAME:
        return byte_differences.byte_difference_forms()
    return amx_forms(name) if name in AMX_INSTRUCTIONS else x86_instructions().get(name, ())


def is_available(instruction: Instruction, features: Set[str]) -> bool:
    """Whether a processor with these features has an instruction."""
    return features >= {*instruction.features}


def sum_of_products(
    types: tuple[DType, DType], terms: int, lanes: int, features: Set[str]
) -> str | None:
    """Return the name of an instruction that adds products to vectors of 32-bit sums.

    Args:
        types: the element types of the two factors of each product, in any order.
        terms: the number of products that are added to each sum.
        lanes: the number of sums.
        features: the features of the processor, by LLVM's names.
    """
    for name, forms in x86_instructions().items():
        for form in forms:
            operand_types = [form.kernel.arrays[operand].dtype for operand in ("a", "b")]
            takes_types = any(
                all(map(fits, given, operand_types)) for given in (types, types[::-1])
            )
            has_shape = (form.terms, form.lanes) == (terms, lanes)
            if has_shape and takes_types and is_available(form, features):
                return name
    return None
