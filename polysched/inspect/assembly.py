"""Parse LLVM's x86 assembly text (AT&T syntax, ELF) into functions and loops.

The instructions of the innermost loop decide the speed of a kernel. They are read from LLVM's
output, so that tests can find spills and superfluous stores.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import networkx

from polysched.errors import AssemblyError
from polysched.inspect.instruction import Instruction, Kind, parse_instruction
from polysched.inspect.instruction_counts import InstructionCounts, count

_STEP = re.compile(r"(add|sub|inc|dec)[bwlq]")
_SETS_FLAGS = re.compile(r"(add|adc|sub|sbb|inc|dec|and|or|xor|neg|shl|shr|sar|bls\w+)[bwlq]?")
_VECTOR_SETS_FLAGS = re.compile(r"k(or)?test.*|v?p?test.*|v?u?comi.*")
_NUMBER = re.compile(r"\$?-?(0x[0-9a-f]+|\d+)")
_LEA_STEP = re.compile(r"-?\d+\((%\w+)\)")

_LABEL = re.compile(r'^("[^"]+"|[\w.$@]+):')
_LOCAL_LABEL = re.compile(r"\.L[\w$]+")
_CODE_SECTION = re.compile(r'\.text\b|\.section\s+"?\.l?text\b')
_SECTION = re.compile(r"\.(section|data|bss|rodata)\b")
_SAVES_STACK_POINTER = re.compile(r"%r(bp|bx)")


@dataclass(frozen=True)
class Block:
    """A basic block: its label, None if only the block before leads to it, and its instructions."""

    label: str | None
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Loop:
    """A natural loop: the block `header` and every block from which control returns to it.

    - `body`: the instructions of all its blocks in the order of the text, inner loops included.
    - `depth`: 1 for an outermost loop. `is_innermost`: no loop lies within it.
    - `frame`: the registers that point into the function's stack frame.
    """

    header: str
    body: tuple[Instruction, ...]
    depth: int
    is_innermost: bool
    frame: frozenset[str]

    @cached_property
    def counts(self) -> InstructionCounts:
        """The instruction counts of the body."""
        return count(self.body, control=loop_control(self.body), frame=self.frame)


@dataclass(frozen=True)
class Function:
    """A function: its basic blocks in the order of the text and its loops, outer ones first."""

    name: str
    blocks: tuple[Block, ...]
    loops: tuple[Loop, ...]
    frame: frozenset[str]

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """All instructions in the order of the text."""
        return tuple(i for block in self.blocks for i in block.instructions)

    @cached_property
    def counts(self) -> InstructionCounts:
        """The instruction counts of the whole function."""
        return count(self.instructions, frame=self.frame)


def parse(assembly: str) -> tuple[Function, ...]:
    """Parse the output of llvmlite's ``TargetMachine.emit_assembly`` into functions.

    Raises `AssemblyError` for Intel syntax, and for a jump to a label that the text does not have.
    """
    if re.search(r"^\s*\.intel_syntax", assembly, re.MULTILINE):
        raise AssemblyError("the assembly is in Intel syntax; expected AT&T syntax, LLVM's default")
    table = frozenset(_table_targets(assembly))
    return tuple(
        _function(name, lines, table)
        for name, lines in _split(assembly)
        if not all(map(_LABEL.match, lines))
    )


def hot_loop(function: Function) -> Loop | None:
    """The innermost loop with the most FMAs, else the most vector instructions; None without loops.

    Among equal loops, such as a full tile and a masked partial tile, the shortest is returned.
    """
    innermost = [loop for loop in function.loops if loop.is_innermost]
    return max(
        innermost,
        key=lambda loop: (loop.counts.fma, loop.counts.vector_work, -loop.counts.total),
        default=None,
    )


def _split(assembly: str) -> list[tuple[str, list[str]]]:
    """The lines of code under each label that is not local, without comments and directives."""
    functions: list[tuple[str, list[str]]] = []
    in_code = True
    for raw in assembly.splitlines():
        line = raw.partition("#")[0].strip()
        label = _LABEL.match(line)
        if not line:
            continue
        if _CODE_SECTION.match(line):
            in_code = True
        elif _SECTION.match(line):
            in_code = False
        elif label and not label[1].startswith(".L"):
            if in_code:
                functions.append((label[1].strip('"'), []))
        elif in_code and functions and (label or not line.startswith(".")):
            functions[-1][1].append(line)
    return functions


def _table_targets(assembly: str) -> Iterable[str]:
    """The labels in data: the targets of jumps through tables."""
    for line in assembly.splitlines():
        if line.strip().startswith((".long", ".quad", ".word")):
            yield from _LOCAL_LABEL.findall(line)


def _function(name: str, lines: list[str], table: frozenset[str]) -> Function:
    blocks = _blocks(lines)
    frame = _frame_registers(blocks)
    return Function(name, blocks, _loops(name, blocks, frame, table), frame)


def _blocks(lines: list[str]) -> tuple[Block, ...]:
    """Cut a function into blocks at labels and after jumps and returns."""
    blocks: list[Block] = []
    label: str | None = None
    instructions: list[Instruction] = []

    def close(next_label: str | None) -> None:
        nonlocal label, instructions
        if label is not None or instructions:
            blocks.append(Block(label, tuple(instructions)))
        label, instructions = next_label, []

    for line in lines:
        found = _LABEL.match(line)
        if found:
            close(found[1])
            continue
        instruction = parse_instruction(line)
        instructions.append(instruction)
        if instruction.ends_block:
            close(None)
    close(None)
    return tuple(blocks)


def _frame_registers(blocks: tuple[Block, ...]) -> frozenset[str]:
    """The stack pointer, and %rbp and %rbx if the function begins by copying it there.

    LLVM uses no other frame or base pointer; without such a copy they hold values like any other.
    """
    copies = {
        instruction.operands[1]
        for instruction in (blocks[0].instructions if blocks else ())
        if instruction.mnemonic == "movq" and instruction.operands[0] == "%rsp"
    }
    return frozenset({"%rsp"}) | {name for name in copies if _SAVES_STACK_POINTER.fullmatch(name)}


def _loops(
    name: str, blocks: tuple[Block, ...], frame: frozenset[str], table: frozenset[str]
) -> tuple[Loop, ...]:
    """The natural loops (Aho, Lam, Sethi, Ullman, "Compilers", section 9.6), outer ones first.

    A back edge goes to a block that dominates its source. Loops with one header are one loop.
    """
    flow = _flow(name, blocks, table)
    dominators = networkx.immediate_dominators(flow, 0) if blocks else {}
    reachable = {0, *dominators}
    members: dict[int, set[int]] = {}
    for source, header in flow.edges:
        if source in reachable and _dominates(dominators, header, source):
            members.setdefault(header, {header}).update(_reaching(flow, source, header))
    loops = [
        Loop(
            header=blocks[header].label or "",
            body=tuple(i for b in sorted(inside) for i in blocks[b].instructions),
            depth=1 + sum(inside < other for other in members.values()),
            is_innermost=not any(other < inside for other in members.values()),
            frame=frame,
        )
        for header, inside in sorted(members.items())
    ]
    return tuple(sorted(loops, key=lambda loop: loop.depth))


def _flow(name: str, blocks: tuple[Block, ...], table: frozenset[str]) -> "networkx.DiGraph[int]":
    """The control flow graph on the positions of the blocks."""
    position = {block.label: index for index, block in enumerate(blocks) if block.label}
    flow: networkx.DiGraph[int] = networkx.DiGraph()
    flow.add_nodes_from(range(len(blocks)))
    for index, block in enumerate(blocks):
        last = block.instructions[-1] if block.instructions else None
        target = last.target if last is not None else None
        if target in position:
            flow.add_edge(index, position[target])
        elif target is not None and target.startswith(".L"):
            raise AssemblyError(
                f"function {name!r} jumps to {target!r}, which has no such label; "
                "expected the whole text of the function"
            )
        elif last is not None and last.is_indirect_jump:
            flow.add_edges_from((index, position[label]) for label in table & position.keys())
        if (last is None or last.falls_through) and index + 1 < len(blocks):
            flow.add_edge(index, index + 1)
    return flow


def _dominates(immediate: dict[int, int | None], above: int, below: int) -> bool:
    node: int | None = below
    while node is not None and node != above:
        parent = immediate.get(node)
        node = None if parent == node else parent
    return node == above


def _reaching(flow: "networkx.DiGraph[int]", source: int, header: int) -> set[int]:
    """The blocks from which `source` can be reached without passing `header`, and `source`."""
    if source == header:
        return {header}
    without = networkx.restricted_view(flow, [header], [])
    return {source, *networkx.ancestors(without, source)}


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
