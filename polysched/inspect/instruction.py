"""An x86 instruction in AT&T syntax: its operands and its class."""

import enum
import re
from dataclasses import dataclass

# Widest first.
REGISTER_WIDTHS = ("zmm", "ymm", "xmm")

# segment:displacement(base, index, scale){1toN}, of which any part but one may be absent.
_MEMORY = re.compile(
    r"(?:%[a-z]s:)?[^()%$*{}]*"
    r"(?:\((?P<base>%\w+)?(?:,\s*(?P<index>%\w+))?(?:,\s*\d+)?\))?"
    r"\s*(?:\{1to(?P<broadcast>\d+)\})?(?:\s*\{%k\d\})?"
)
_VECTOR = re.compile(r"%([xyz]mm)(\d+)")
_DECORATION = re.compile(r"\{[^}]*\}")
_PREFIX = re.compile(r"^((rep[nez]*|lock|notrack|data16|\{e?vex\d?\})[\s;]+)*")
# Operands are separated by commas outside of parentheses.
_COMMA = re.compile(r",\s*(?![^()]*\))")


class Kind(enum.Enum):
    """The class of an instruction; each has exactly one."""

    FMA = "fused multiply-add"
    VECTOR_ARITHMETIC = "vector arithmetic"
    VECTOR_LOAD = "vector load"
    BROADCAST = "broadcast load"
    VECTOR_STORE = "vector store"
    VECTOR_MOVE = "vector register move"
    SHUFFLE = "shuffle"
    GATHER = "gather"
    SCATTER = "scatter"
    MASK = "mask operation"
    MATRIX = "matrix tile operation"
    PREFETCH = "prefetch"
    SCALAR_LOAD = "scalar load"
    SCALAR_STORE = "scalar store"
    SCALAR_ARITHMETIC = "scalar arithmetic"
    COMPARE = "compare"
    JUMP = "jump"
    CALL = "call"
    RETURN = "return"
    OTHER = "other"


@dataclass(frozen=True)
class Memory:
    """A memory operand: base and index register (``"%rsp"``) and the lanes of a `{1toN}` form."""

    base: str | None
    index: str | None
    broadcast: int | None


@dataclass(frozen=True)
class Instruction:
    """One instruction: `mnemonic`, `operands` in AT&T order (the destination last), its `kind`."""

    mnemonic: str
    operands: tuple[str, ...]
    kind: Kind

    @property
    def memory(self) -> Memory | None:
        """The memory operand, or None. Addresses of ``lea`` and calls do not count."""
        if self.kind in _NO_DATA or self.mnemonic.startswith("lea"):
            return None
        found = (memory_operand(operand) for operand in self.operands)
        return next((memory for memory in found if memory is not None), None)

    @property
    def writes_memory(self) -> bool:
        """Whether the memory operand is written."""
        return (
            self.kind not in _NO_DATA + _ONLY_READ
            and not _IMPLICIT_DESTINATION.match(self.mnemonic)
            and _destination_is_memory(self.operands)
        )

    @property
    def destination(self) -> str | None:
        """The destination register without mask and width: ``"mm3"`` for ``"%zmm3 {%k1}"``."""
        if not self.operands:
            return None
        vector = _VECTOR.match(self.operands[-1])
        return f"mm{vector[2]}" if vector else _DECORATION.sub("", self.operands[-1]).lstrip("%")

    @property
    def widest_register(self) -> str | None:
        """The widest vector register it names: ``"zmm"``, ``"ymm"``, ``"xmm"``, or None."""
        widths = {found[1] for operand in self.operands for found in _VECTOR.finditer(operand)}
        return next((width for width in REGISTER_WIDTHS if width in widths), None)

    @property
    def single_lane(self) -> bool:
        """Whether it computes on the lowest lane only, such as ``vaddss``."""
        packed_integer = self.mnemonic.removeprefix("v").startswith("p")
        return (
            self.kind in (Kind.FMA, Kind.VECTOR_ARITHMETIC)
            and not packed_integer
            and self.mnemonic.endswith(("ss", "sd", "sh"))
        )

    @property
    def is_masked(self) -> bool:
        """Whether a mask register selects lanes."""
        return any("{%k" in operand for operand in self.operands)

    @property
    def is_conditional_jump(self) -> bool:
        """Whether it is a jump that may fall through to the next instruction."""
        return self.kind is Kind.JUMP and not self.mnemonic.startswith("jmp")

    @property
    def is_indirect_jump(self) -> bool:
        """Whether it jumps through a register or a table."""
        return self.kind is Kind.JUMP and self.operands[0].startswith("*")

    @property
    def falls_through(self) -> bool:
        """Whether the next instruction may run after it."""
        return self.mnemonic != "ud2" and (
            self.kind not in (Kind.JUMP, Kind.RETURN) or self.is_conditional_jump
        )

    @property
    def ends_block(self) -> bool:
        """Whether a basic block ends with it."""
        return self.kind in (Kind.JUMP, Kind.RETURN) or not self.falls_through

    @property
    def target(self) -> str | None:
        """The target label of a direct jump."""
        if self.kind is not Kind.JUMP or not self.operands or self.operands[0].startswith("*"):
            return None
        return self.operands[0]


# Their operand is an address, not data.
_NO_DATA = (Kind.JUMP, Kind.CALL, Kind.RETURN, Kind.PREFETCH, Kind.OTHER)
# They read a memory operand in last place, where other instructions write.
_ONLY_READ = (Kind.COMPARE,)
_IMPLICIT_DESTINATION = re.compile(r"i?(mul|div)[bwlq]$")


def memory_operand(operand: str) -> Memory | None:
    """Parse a memory operand; None for a register or a number.

    A bare label counts as an absolute address, so operands of jumps and calls must not be passed.
    """
    match = _MEMORY.fullmatch(operand)
    if not match:
        return None
    lanes = match["broadcast"]
    return Memory(match["base"], match["index"], int(lanes) if lanes else None)


def parse_instruction(line: str) -> Instruction:
    """Parse a line of assembly without label and comment."""
    # `rep;movsq`, `lock addq`: the prefix does not decide the class.
    mnemonic, *rest = _PREFIX.sub("", line.strip()).split(None, 1)
    operands = tuple(_COMMA.split(rest[0])) if rest else ()
    return Instruction(mnemonic, operands, classify(mnemonic, operands))


# The first row whose pattern matches the whole mnemonic decides; the operands refine moves,
# broadcasts and shuffles. The patterns take the forms of SSE, AVX and AVX-512 alike.
_TABLE: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (Kind.CALL, r"call[qlw]?"),
        (Kind.RETURN, r"ret[qlw]?"),
        (Kind.JUMP, r"j[a-z]+"),
        (Kind.FMA, r"vfn?m(add|sub)(add|sub)?(132|213|231)?([ps][sdh]|(nep)?bf16)|vfc?maddc[ps]h"),
        # Dot products of small numbers, added to wide accumulators.
        (Kind.FMA, r"vdp(bf16|ph)ps|vpdp[bw][su]{2}ds?|vpmadd52[lh]uq"),
        (Kind.GATHER, r"vp?gather.*"),
        (Kind.SCATTER, r"vp?scatter.*"),
        (Kind.PREFETCH, r"prefetch.*"),
        (Kind.MATRIX, r"tile.*|tdp.*|ldtilecfg|sttilecfg|tc?mm.*|tcvt.*"),
        (Kind.MASK, r"k(mov|and|andn|or|xor|xnor|not|unpck|shift|test|ortest|add).*"),
        (Kind.MASK, r"vpmovm2.|vpmov.2m"),
        (Kind.BROADCAST, r"vp?broadcast.*|v?movddup"),
        (Kind.VECTOR_MOVE, r"v?mov(aps|apd|ups|upd|dq.*|nt.*|[lh]p[sd]|ss|sh|w|d|q)|v?lddqu"),
        (Kind.VECTOR_MOVE, r"v?p?maskmov.*|vmovsd|movsd"),
        (Kind.VECTOR_ARITHMETIC, r"v?p?blend.*"),
        (Kind.SHUFFLE, r"v?p?(perm|shuf|unpck|insert|extract|align|compress|expand|pack).*"),
        (Kind.SHUFFLE, r"v?(p(insr|extr|alignr|s[lr]ldq)|mov(lh|hl)ps|movs[hl]dup|insertps).*"),
        (
            Kind.OTHER,
            r"vzero.*|nop.*|endbr.*|push[qlw]?|pop[qlw]?|ud2|int3|leave|cld|[lms]fence|.*mxcsr",
        ),
        (Kind.COMPARE, r"(cmp|test)[bwlq]|bt[wlq]?"),
    )
)


def classify(mnemonic: str, operands: tuple[str, ...]) -> Kind:
    """Classify an instruction by its mnemonic and, if that is ambiguous, by its operands."""
    if operands and re.match(r"%k\d", operands[-1]):
        return Kind.MASK  # also the vector comparisons
    kind = next((kind for kind, pattern in _TABLE if pattern.fullmatch(mnemonic)), None)
    vector = any(_VECTOR.search(operand) for operand in operands)
    if kind is Kind.VECTOR_MOVE:
        kind = _move(operands) if vector else None
    elif kind is Kind.BROADCAST and not any(map(memory_operand, operands)):
        kind = Kind.SHUFFLE
    elif kind is Kind.SHUFFLE and _destination_is_memory(operands):
        kind = Kind.VECTOR_STORE
    if kind is not None:
        return kind
    if vector:
        return Kind.VECTOR_STORE if _destination_is_memory(operands) else Kind.VECTOR_ARITHMETIC
    return _scalar_work(mnemonic, operands)


def _move(operands: tuple[str, ...]) -> Kind:
    if _destination_is_memory(operands):
        return Kind.VECTOR_STORE
    if any(map(memory_operand, operands)):
        return Kind.VECTOR_LOAD
    return Kind.VECTOR_MOVE


def _scalar_work(mnemonic: str, operands: tuple[str, ...]) -> Kind:
    is_move = mnemonic.startswith(("mov", "set"))
    if is_move and _destination_is_memory(operands):
        return Kind.SCALAR_STORE
    if is_move and any(map(memory_operand, operands)):
        return Kind.SCALAR_LOAD
    return Kind.SCALAR_ARITHMETIC


def _destination_is_memory(operands: tuple[str, ...]) -> bool:
    return bool(operands) and memory_operand(operands[-1]) is not None
