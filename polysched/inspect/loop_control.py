"""Find the loop control instructions: jumps, comparisons and steps of counters."""

import re
from collections.abc import Sequence

from polysched.inspect.instruction import Instruction, Kind

_STEP = re.compile(r"(add|sub|inc|dec)[bwlq]")
_SETS_FLAGS = re.compile(r"(add|adc|sub|sbb|inc|dec|and|or|xor|neg|shl|shr|sar|bls\w+)[bwlq]?")
_VECTOR_SETS_FLAGS = re.compile(r"k(or)?test.*|v?p?test.*|v?u?comi.*")
_NUMBER = re.compile(r"\$?-?(0x[0-9a-f]+|\d+)")
_LEA_STEP = re.compile(r"-?\d+\((%\w+)\)")


def loop_control(body: Sequence[Instruction]) -> frozenset[int]:
    """The positions in a loop's `body` of the instructions that only control the loop.

    These are jumps and comparisons, the arithmetic whose flags a conditional jump reads, and steps
    of counters and pointers: in-place additions of a constant or of a register that the loop does
    not change. Arithmetic that computes an address is not loop control.
    """
    written = {instruction.destination for instruction in body if not _only_reads(instruction)}
    return frozenset(
        position
        for position, instruction in enumerate(body)
        if instruction.kind in (Kind.JUMP, Kind.COMPARE) or _is_step(instruction, written)
    ) | frozenset(
        feeder
        for position, instruction in enumerate(body)
        if instruction.is_conditional_jump and (feeder := _feeder(body, position)) is not None
    )


def _feeder(body: Sequence[Instruction], jump: int) -> int | None:
    """The position of the scalar arithmetic whose flags the jump reads, if it is any."""
    for position in range(jump - 1, -1, -1):
        instruction = body[position]
        if instruction.kind is Kind.COMPARE or _VECTOR_SETS_FLAGS.fullmatch(instruction.mnemonic):
            return None
        if instruction.kind is Kind.SCALAR_ARITHMETIC and _SETS_FLAGS.fullmatch(
            instruction.mnemonic
        ):
            return position
    return None


def _is_step(instruction: Instruction, written: set[str | None]) -> bool:
    operands = instruction.operands
    if instruction.memory is not None or instruction.kind is not Kind.SCALAR_ARITHMETIC:
        return False
    if instruction.mnemonic.startswith("lea") and len(operands) == 2:
        match = _LEA_STEP.fullmatch(operands[0])
        return match is not None and match[1] == operands[1]
    if not _STEP.fullmatch(instruction.mnemonic):
        return False
    if len(operands) == 1:
        return True
    return bool(_NUMBER.fullmatch(operands[0])) or operands[0].lstrip("%") not in written


def _only_reads(instruction: Instruction) -> bool:
    return instruction.kind in (Kind.COMPARE, Kind.JUMP) or instruction.writes_memory
