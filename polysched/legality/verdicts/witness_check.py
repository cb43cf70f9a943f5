"""Check the witness of a violation by plain arithmetic before it is reported.

isl found the witness. This module evaluates the kernel's domains, subscripts and loops at the
numbers of the witness, one instance at a time. A claim that does not hold is a bug in the analysis:
the verdict becomes unknown, and the fuzzer reports a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from polysched.dependence.relations import DependenceKind
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import Loop, LoopKind, Node, path
from polysched.legality.verdicts.arithmetic import bytes_of, holds, lives, number, parting
from polysched.legality.verdicts.verdict import Cause, Violation, ViolationKind
from polysched.legality.verdicts.witness_end import End
from polysched.schedule.core.program import Program


def unconfirmed(program: Program, violation: Violation) -> str:
    """Return the first claim of a violation's witness that does not hold; empty if all hold.

    Args:
        program: the program in which the violation was found.
    """
    witness = violation.witness
    sizes = dict(witness.parameters)
    missing = [name for name in program.kernel.parameters if name not in sizes]
    if missing:
        return f"parameter '{missing[0]}' has no value"
    if not holds(program.kernel.context, (), sizes):
        return "the context excludes these parameters"
    ends = [End(program, sizes, end) for end in (witness.source, witness.sink) if end is not None]
    claims = _PAIR_CLAIMS if len(ends) == 2 else _SINGLE_CLAIMS
    if violation.cause not in claims:
        return f"{len(ends)} instances do not show that {violation.cause.value}"
    for end in ends:
        for doubt in end.doubts(runs=violation.cause is not Cause.LOST):
            return doubt
    return next(claims[violation.cause](violation, *ends), "")


def _element(violation: Violation, source: End, sink: End) -> Iterator[str]:
    """Claim: both ends touch one element, with the actions of the dependence kind."""
    first, second = source.shown, sink.shown
    # Two concurrent stores into one memory slot are a fault even if their tiles differ.
    at_once = violation.kind in (ViolationKind.VECTOR, ViolationKind.PARALLEL)
    is_place = at_once and violation.dependence is DependenceKind.OUTPUT
    if (first.array, first.element) != (second.array, second.element) or (
        first.tile != second.tile and not is_place
    ):
        yield f"{first.touched} and {second.touched} are not one element"
    if first.array != violation.array:
        yield f"{first.touched} is not in {violation.array}"
    kind = violation.dependence or DependenceKind.FLOW
    if (first.action, second.action) != _ACTIONS[kind]:
        actions = f"{first.name} {first.action} and {second.name} {second.action}"
        yield f"{actions}: no {kind.value} dependence"


_ACTIONS = MappingProxyType(
    {
        DependenceKind.FLOW: ("writes", "reads"),
        DependenceKind.ANTI: ("reads", "writes"),
        DependenceKind.OUTPUT: ("writes", "writes"),
    }
)


def _was_before(source: End, sink: End) -> Iterator[str]:
    """Claim: the declared program runs the source first, if both statements are declared."""
    if source.before is None or sink.before is None:
        return
    parted = parting(source.before, sink.before)
    if parted is None or parted[1] > parted[2]:
        yield f"the program does not run {source.shown.name} before {sink.shown.name}"


def _backwards(violation: Violation, source: End, sink: End) -> Iterator[str]:
    yield from _element(violation, source, sink)
    yield from _was_before(source, sink)
    parted = parting(source.now, sink.now)
    if parted is None or parted[1] < parted[2] or _loop(parted[0]) != violation.loop:
        yield f"the schedule does not run {sink.shown.name} before {source.shown.name} there"


def _reassociated(violation: Violation, source: End, sink: End) -> Iterator[str]:
    """Claim: an instruction that reassociates computes both iterations of the loop."""
    yield from _element(violation, source, sink)
    parted = parting(source.now, sink.now)
    node = None if parted is None else parted[0]
    mark = node.instruction if isinstance(node, Loop) else None
    if node is None or _loop(node) != violation.loop or mark is None or not mark.reassociates:
        yield f"no instruction reassociates {source.shown.name} and {sink.shown.name}"


def _at_once(violation: Violation, source: End, sink: End) -> Iterator[str]:
    yield from _element(violation, source, sink)
    if violation.cause in _IN_ORDER and violation.dependence is not DependenceKind.OUTPUT:
        yield from _was_before(source, sink)
    yield from _together(violation, source, sink)


def _together(violation: Violation, source: End, sink: End) -> Iterator[str]:
    """Claim: both ends run in two lanes of a vector or in two iterations of a parallel loop."""
    lanes = violation.cause in (Cause.LANES, Cause.REDUCTION_LANES)
    kind = LoopKind.VECTOR if lanes else LoopKind.PARALLEL
    parted = parting(source.now, sink.now)
    if parted is None or _loop(parted[0]) != violation.loop or _kind(parted[0]) is not kind:
        yield f"{source.shown.name} and {sink.shown.name} do not run at once"


def _in_one_byte(violation: Violation, source: End, sink: End) -> Iterator[str]:
    first, second = source.shown, sink.shown
    if (
        first.array is None
        or first.array != violation.array
        or second.array != violation.array
        or first.action != "writes"
    ):
        yield f"{first.name} does not write {violation.array}, or {second.name} does not touch it"
        return
    array = source.program.arrays[first.array]
    row, own = bytes_of(array, first.element, source.sizes)
    second_row, others = bytes_of(array, second.element, sink.sizes)
    if row != second_row or own.stop <= others.start or others.stop <= own.start:
        yield f"{first.touched} and {second.touched} have no byte in common"
    yield from _together(violation, source, sink)


def _at_one_time(violation: Violation, source: End, sink: End) -> Iterator[str]:
    if source.shown.name == sink.shown.name or source.shown.statement != sink.shown.statement:
        yield f"{source.shown.name} and {sink.shown.name} are not two instances of a statement"
    elif parting(source.now, sink.now) is not None:
        yield f"{source.shown.name} and {sink.shown.name} run at different times"


def _overwritten(violation: Violation, source: End, sink: End) -> Iterator[str]:
    """Claim: the sink writes into the memory slot of the source before the source reads it."""
    read, write = source.shown, sink.shown
    if (read.action, write.action) != ("reads", "writes"):
        yield f"{read.name} does not read, or {write.name} does not write"
    if (read.array, read.element) != (write.array, write.element):
        yield f"{read.touched} and {write.touched} are not one place in memory"
    if violation.cause is Cause.TWO_TILES and read.tile == write.tile:
        yield f"{read.name} and {write.name} belong to one tile"
    if _comes_first(source, sink):
        yield f"{read.name} reads before {write.name} writes"
    assert read.array is not None
    is_folded = read.array in source.program.folded
    elements = [end.unfolded.element for end in (source, sink) if is_folded and end.unfolded]
    if len(elements) == 2 and elements[0] == elements[1]:
        yield f"{read.touched} and {write.touched} are one element before folding"
    values = source.unfolded_writers() if is_folded else source.writers()
    if values is not None and all(_comes_first(sink, writer) for writer in values):
        yield f"the value that {read.name} reads is written after {write.name}"


def _comes_first(end: End, other: End) -> bool:
    """Whether the schedule ensures that the access of ``end`` runs before that of ``other``.

    All lanes of a vector read before any lane writes.
    """
    parted = parting(end.now, other.now)
    reads_first = (end.shown.action, other.shown.action) == ("reads", "writes")
    if parted is None:
        return reads_first and end.shown.name == other.shown.name
    match _kind(parted[0]):
        case LoopKind.VECTOR:
            return reads_first
        case LoopKind.PARALLEL:
            return False
        case _:
            return parted[1] < parted[2]


def _in_two_iterations(violation: Violation, source: End, sink: End) -> Iterator[str]:
    """Claim: both ends touch one element, but run in iterations with separate memory."""
    yield from _element(violation, source, sink)
    parted = parting(source.now, sink.now)
    around = [_loop(step.node) for step in source.now]
    around = around[: around.index(violation.loop) + 1] if violation.loop in around else []
    if parted is None or _loop(parted[0]) not in around:
        yield f"{source.shown.name} and {sink.shown.name} run in one iteration"


def _interrupted(violation: Violation, source: End, sink: End) -> Iterator[str]:
    """Claim: two copies in read one element, and neither tile is copied out before the other."""
    first, second = source.shown, sink.shown
    if (first.array, first.element, first.action) != (second.array, second.element, second.action):
        yield f"{first.name} and {second.name} do not read one element"
    if first.name == second.name:
        yield f"{first.name} and {second.name} are one instance"
    for end, other in ((source, sink), (sink, source)):
        for out in end.copies_out():
            if _comes_first(out, other):
                yield f"{out.shown.name} copies out before {other.shown.name} copies in"


def _outside(violation: Violation, only: End) -> Iterator[str]:
    shown = only.shown
    array = only.program.arrays[shown.array or ""]
    shape = tuple(number(extent, only.sizes) for extent in array.stored_shape)
    if shape != violation.shape:
        yield f"array {array.name} has the shape {shape}"
    if all(0 <= index < extent for index, extent in zip(shown.element, shape, strict=True)):
        yield f"{shown.touched} lies inside the array"


def _undefined(violation: Violation, only: End) -> Iterator[str]:
    """Claim: no instance writes the element before, in the order of the program."""
    program, shown = only.program, only.shown
    in_kernel = violation.cause is Cause.NEVER_WRITTEN
    assert shown.array is not None
    if shown.action != "reads":
        yield f"{shown.name} does not read"
    if in_kernel and program.arrays[shown.array].role not in (Role.OUTPUT, Role.TEMPORARY):
        yield f"the caller defines {shown.array}"
    if shown.array in program.folded:
        return
    for writer in only.writers() or ():
        # An update of a buffer element reads it first, so the update does not define it.
        if (in_kernel or not writer.is_update) and _comes_first(writer, only):
            yield f"{writer.shown.name} has written {shown.touched} before"


def _lost(violation: Violation, only: End) -> Iterator[str]:
    program, name = only.program, only.shown.statement
    kept = program.statements.get(name)
    if kept is None or name not in program.tree.statements or name in program.recomputed:
        return
    if lives(kept, only.variables) and all(
        holds(loop.values[name].domain(), kept.indices, only.variables)
        for loop in path(program.tree, name)
    ):
        yield f"the schedule runs {only.shown.name}"


def _added(violation: Violation, only: End) -> Iterator[str]:
    declared = only.declared
    if declared is not None and lives(declared, only.variables):
        yield f"{only.shown.name} is an instance of the kernel"


def _loop(node: Node) -> str | None:
    return node.name if isinstance(node, Loop) else None


def _kind(node: Node) -> LoopKind | None:
    return node.kind if isinstance(node, Loop) else None


_IN_ORDER = (Cause.LANES, Cause.THREADS)

_PAIR_CLAIMS: Mapping[Cause, Callable[[Violation, End, End], Iterator[str]]] = MappingProxyType(
    {
        Cause.LOOP: _backwards,
        Cause.SEQUENCE: _backwards,
        Cause.LANES: _at_once,
        Cause.REDUCTION_LANES: _at_once,
        Cause.THREADS: _at_once,
        Cause.REDUCTION_THREADS: _at_once,
        Cause.INSTRUCTION: _reassociated,
        Cause.SHARED_BYTE: _in_one_byte,
        Cause.SAME_TIME: _at_one_time,
        Cause.TWO_TILES: _overwritten,
        Cause.OVERWRITTEN: _overwritten,
        Cause.LIFETIME: _in_two_iterations,
        Cause.INTERRUPTED: _interrupted,
    }
)
"""Checks of a pair of instances, by cause."""

_SINGLE_CLAIMS: Mapping[Cause, Callable[[Violation, End], Iterator[str]]] = MappingProxyType(
    {
        Cause.LIFETIME: _undefined,
        Cause.OUTSIDE: _outside,
        Cause.NEVER_WRITTEN: _undefined,
        Cause.LOST: _lost,
        Cause.ADDED: _added,
    }
)
"""Checks of a single instance, by cause."""
