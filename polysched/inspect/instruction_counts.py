"""Count the instructions of a code region by class."""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from polysched.inspect.instruction import REGISTER_WIDTHS, Instruction, Kind


@dataclass(frozen=True)
class InstructionCounts:
    """Static counts: each instruction once, however often it runs.

    The fields from `fma` to `other` sum up to `total`; a load or store of the stack frame counts in
    `spill_stores` or `spill_reloads` instead of its class. The last group counts properties of the
    same instructions:

    - `fma_memory`: FMAs that read an operand from memory; `fma_broadcast`: those of them that
      repeat one element (``{1to16}``).
    - `spill_folded`: other instructions, such as FMAs, with a memory operand in the stack frame.
    - `single_lane`: floating-point instructions on one lane; vector code has none.
    - `masked`: vector instructions under a mask register.
    - `accumulators`: distinct destination registers of the FMAs.
    - `widest_register`: ``"zmm"``, ``"ymm"``, ``"xmm"``, or None without vectors.
    """

    total: int
    fma: int
    vector_arithmetic: int
    vector_loads: int
    broadcasts: int
    vector_stores: int
    vector_moves: int
    shuffles: int
    gathers: int
    scatters: int
    mask_operations: int
    matrix_operations: int
    prefetches: int
    scalar_loads: int
    scalar_stores: int
    scalar_arithmetic: int
    loop_control: int
    calls: int
    spill_stores: int
    spill_reloads: int
    other: int

    fma_memory: int
    fma_broadcast: int
    spill_folded: int
    single_lane: int
    masked: int
    accumulators: int
    widest_register: str | None

    @property
    def spills(self) -> int:
        """Accesses to the stack frame: stores, reloads and folded operands."""
        return self.spill_stores + self.spill_reloads + self.spill_folded

    @property
    def stores(self) -> int:
        """Stores except spills: vector, scalar and scattered."""
        return self.vector_stores + self.scalar_stores + self.scatters

    @property
    def vector_work(self) -> int:
        """Instructions that compute on vectors or move them, without spills."""
        return (
            self.fma
            + self.vector_arithmetic
            + self.vector_loads
            + self.broadcasts
            + self.vector_stores
            + self.vector_moves
            + self.shuffles
            + self.gathers
            + self.scatters
        )

    def summary(self) -> str:
        """Summarize the counts in a line, FMAs first, spills and stores last.

        For example ``"24 fma (24 accumulators, zmm; 4 from memory, 4 of them broadcast), 6 vector
        loads, 3 loop control; no spills, no stores"``.
        """
        parts = [
            f"{count} {label}" + (self._fma_details() if label == "fma" else "")
            for label, count in self._listed()
            if count
        ]
        spills = f"{self.spills} spills" if self.spills else "no spills"
        stores = f"{self.stores} stores" if self.stores else "no stores"
        return f"{', '.join(parts) or 'no instructions'}; {spills}, {stores}"

    def _fma_details(self) -> str:
        details = f"{self.accumulators} accumulators, {self.widest_register}"
        if self.fma_memory:
            details += f"; {self.fma_memory} from memory"
        if self.fma_broadcast:
            details += f", {self.fma_broadcast} of them broadcast"
        return f" ({details})"

    def _listed(self) -> tuple[tuple[str, int], ...]:
        return (
            ("fma", self.fma),
            ("vector arithmetic", self.vector_arithmetic),
            ("vector loads", self.vector_loads),
            ("broadcasts", self.broadcasts),
            ("vector stores", self.vector_stores),
            ("vector moves", self.vector_moves),
            ("shuffles", self.shuffles),
            ("gathers", self.gathers),
            ("scatters", self.scatters),
            ("mask operations", self.mask_operations),
            ("matrix operations", self.matrix_operations),
            ("prefetches", self.prefetches),
            ("scalar loads", self.scalar_loads),
            ("scalar stores", self.scalar_stores),
            ("scalar arithmetic", self.scalar_arithmetic),
            ("loop control", self.loop_control),
            ("calls", self.calls),
            ("other", self.other),
        )


# Pure moves between registers and memory. On the stack frame they are spills.
_LOADS = (Kind.VECTOR_LOAD, Kind.BROADCAST, Kind.SCALAR_LOAD)
_STORES = (Kind.VECTOR_STORE, Kind.SCALAR_STORE)


def count(
    instructions: Sequence[Instruction],
    *,
    control: Set[int] = frozenset(),
    frame: Set[str] = frozenset({"%rsp"}),
) -> InstructionCounts:
    """Count instructions.

    Args:
        control: positions that count as loop control, beside jumps and comparisons.
        frame: registers that point into the stack frame.
    """
    kinds: Counter[Kind] = Counter()
    loop_control = spill_stores = spill_reloads = spill_folded = 0
    for position, instruction in enumerate(instructions):
        spills = in_frame(instruction, frame)
        if spills and instruction.kind in _LOADS:
            spill_reloads += 1
        elif spills and instruction.kind in _STORES:
            spill_stores += 1
        else:
            spill_folded += spills
            if position in control or instruction.kind in (Kind.JUMP, Kind.COMPARE):
                loop_control += 1
            else:
                kinds[instruction.kind] += 1
    fmas = [instruction for instruction in instructions if instruction.kind is Kind.FMA]
    addends = [memory for fma in fmas if (memory := fma.memory) is not None]
    widths = {instruction.widest_register for instruction in instructions}
    return InstructionCounts(
        total=len(instructions),
        fma=kinds[Kind.FMA],
        vector_arithmetic=kinds[Kind.VECTOR_ARITHMETIC],
        vector_loads=kinds[Kind.VECTOR_LOAD],
        broadcasts=kinds[Kind.BROADCAST],
        vector_stores=kinds[Kind.VECTOR_STORE],
        vector_moves=kinds[Kind.VECTOR_MOVE],
        shuffles=kinds[Kind.SHUFFLE],
        gathers=kinds[Kind.GATHER],
        scatters=kinds[Kind.SCATTER],
        mask_operations=kinds[Kind.MASK],
        matrix_operations=kinds[Kind.MATRIX],
        prefetches=kinds[Kind.PREFETCH],
        scalar_loads=kinds[Kind.SCALAR_LOAD],
        scalar_stores=kinds[Kind.SCALAR_STORE],
        scalar_arithmetic=kinds[Kind.SCALAR_ARITHMETIC],
        loop_control=loop_control,
        calls=kinds[Kind.CALL],
        spill_stores=spill_stores,
        spill_reloads=spill_reloads,
        other=kinds[Kind.OTHER] + kinds[Kind.RETURN],
        fma_memory=len(addends),
        fma_broadcast=sum(memory.broadcast is not None for memory in addends),
        spill_folded=spill_folded,
        single_lane=sum(instruction.single_lane for instruction in instructions),
        masked=sum(instruction.is_masked for instruction in instructions),
        accumulators=len({fma.destination for fma in fmas}),
        widest_register=next((width for width in REGISTER_WIDTHS if width in widths), None),
    )


def in_frame(instruction: Instruction, frame: Set[str]) -> bool:
    """Whether the memory operand is at a fixed position in the stack frame, as spilled values are.

    Arrays on the stack are addressed with an index or through another register. If LLVM unrolls
    such accesses, they also look like spills.
    """
    memory = instruction.memory
    return memory is not None and memory.base in frame and memory.index is None
