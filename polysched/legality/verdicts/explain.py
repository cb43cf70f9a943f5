"""Explain a violation to a person: the offending step, the witness in numbers, the reason."""

from __future__ import annotations

from polysched.dependence.relations import DependenceKind
from polysched.legality.verdicts.verdict import (
    Cause,
    Occurrence,
    Timestamp,
    Violation,
    ViolationKind,
)

_EXCLUDE_SIZES = (
    "Correct the subscript or the bounds of its loops. If such sizes never occur, exclude them: by "
    "'assert n >= 1' in a Python function, by minimum=1 of build.parameter, or by "
    "build.assume(...)."
)


def explain(violation: Violation) -> str:
    """Format a violation: a headline with the source line, the witness, and the reason.

    ::

        illegal: reorder(order=('j', 'i')) breaks a flow dependence on A    (stencil.py:12)
          S[0,1] writes A[0,1]    was at (i=0, j=1)    now at (j=1, i=0)
          S[1,0] reads A[0,1]     was at (i=1, j=0)    now at (j=0, i=1)
          The program runs S[0,1] first, the schedule S[1,0]: loop j runs 0 before 1.
    """
    location = violation.offending_step.location if violation.offending_step else None
    if violation.in_kernel:
        location = violation.witness.source.location
    where = f"    ({location})" if location else ""
    lines = [f"illegal: {_headline(violation)}{where}"]
    lines += [f"  {line}" for line in _witness_lines(violation)]
    lines.append(f"  {sentence(violation)}")
    if violation.witness.depends_on:
        lines.append(f"  {conservative(violation)}")
    if (
        violation.in_kernel
        and violation.kind is ViolationKind.BOUNDS
        and violation.witness.parameters
    ):
        lines.append(f"  {_EXCLUDE_SIZES}")
    return "\n".join(lines)


def _headline(violation: Violation) -> str:
    subject = _subject(violation)
    array = violation.array
    match violation.kind:
        case ViolationKind.PARALLEL if violation.cause is Cause.SHARED_BYTE:
            return f"{subject} lets elements in one byte of {array} be touched at once"
        case ViolationKind.ORDER | ViolationKind.VECTOR | ViolationKind.PARALLEL:
            kind = f"{_dependence(violation)} dependence on {array}"
            if violation.kind is ViolationKind.VECTOR:
                return f"{subject} puts both ends of {kind} into one vector"
            if violation.kind is ViolationKind.PARALLEL:
                return f"{subject} lets both ends of {kind} run at once"
            return f"{subject} breaks {kind}"
        case ViolationKind.STORAGE if violation.cause is Cause.OVERWRITTEN:
            return f"{subject} lets a value in {array} be overwritten while it is needed"
        case ViolationKind.STORAGE:
            return f"{subject} breaks the lifetime of buffer {array}"
        case ViolationKind.BOUNDS:
            return f"{subject} accesses {array} outside its bounds"
        case ViolationKind.UNDEFINED:
            return f"{subject} reads {array} before anything is written to it"
        case ViolationKind.ONCE:
            return f"{subject} does not run every instance exactly once"


def _dependence(violation: Violation) -> str:
    """Return the kind of a dependence with its article."""
    assert violation.dependence is not None
    kind = violation.dependence.value
    if violation.witness.depends_on:
        return f"a possible {kind}"
    return f"a {kind}" if violation.dependence is DependenceKind.FLOW else f"an {kind}"


def conservative(violation: Violation) -> str:
    """Say why a witness is conservative: which subscripts depend on data."""
    subscripts = violation.witness.depends_on
    verb = "depends" if len(subscripts) == 1 else "depend"
    noun = "subscript" if len(subscripts) == 1 else "subscripts"
    return (
        f"Conservative: {noun} {' and '.join(subscripts)} {verb} on data, so every value in the "
        "declared range is taken for possible."
    )


def _subject(violation: Violation) -> str:
    if violation.offending_step:
        return violation.offending_step.text
    if violation.in_kernel:
        return f"statement {violation.witness.source.statement} of the kernel"
    return "the schedule"


def _witness_lines(violation: Violation) -> list[str]:
    witness = violation.witness
    shown = [witness.source] if witness.sink is None else [witness.source, witness.sink]
    rows = [_parts(occurrence) for occurrence in shown]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "    ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width
        ).rstrip()
        for row in rows
    ]
    if witness.parameters:
        values = ", ".join(f"{name} = {value}" for name, value in witness.parameters)
        lines.insert(0, f"with {values}:")
    return lines


def describe(occurrence: Occurrence) -> str:
    """Describe an instance of a witness in a line: its access, its old and its new timestamp."""
    return ", ".join(part for part in _parts(occurrence) if part)


def _parts(occurrence: Occurrence) -> list[str]:
    return [_access(occurrence), _when("was", occurrence.old), _when("now", occurrence.new)]


def _access(occurrence: Occurrence) -> str:
    action = occurrence.action
    if occurrence.array is None:
        return occurrence.name
    verb = f"may {action.removesuffix('s')}" if occurrence.depends_on else action
    text = f"{occurrence.name} {verb} {occurrence.touched}"
    return f"{text} of tile ({_joined(occurrence.tile)})" if occurrence.tile else text


def _joined(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


def _when(word: str, time: Timestamp | None) -> str:
    if not time:
        return ""
    return f"{word} at ({', '.join(f'{name}={value}' for name, value in time)})"


_AT_ONCE = frozenset(
    {Cause.LANES, Cause.REDUCTION_LANES, Cause.THREADS, Cause.REDUCTION_THREADS, Cause.INSTRUCTION}
)


def sentence(violation: Violation) -> str:
    """Say in one or two sentences why the witness is a violation."""
    source, sink = violation.witness.source, violation.witness.sink
    if sink is None:
        return _single_sentence(violation, source)
    match violation.cause:
        case Cause.LOOP:
            first, second = _value(source, violation.loop), _value(sink, violation.loop)
            return f"{_first(source, sink)}: loop {violation.loop} runs {second} before {first}."
        case Cause.SEQUENCE:
            return (
                f"{_first(source, sink)}: statement {sink.statement} now stands before "
                f"{source.statement}."
            )
        case cause if cause in _AT_ONCE:
            return _together_sentence(violation, source, sink)
        case Cause.SHARED_BYTE:
            first, second = _value(source, violation.loop), _value(sink, violation.loop)
            return (
                f"Iterations {first} and {second} of parallel loop {violation.loop} may run at "
                f"once: {source.touched} and {sink.touched} lie in one byte, which is written as a "
                "whole; split the loop by a multiple of 8, or let each thread have whole rows that "
                "are padded."
            )
        case Cause.SAME_TIME:
            return f"The schedule runs {source.name} and {sink.name} at the same time."
        case Cause.OVERWRITTEN:
            return f"{sink.name} would overwrite {sink.touched} before {source.name} reads it."
        case Cause.TWO_TILES:
            return (
                f"Buffer {violation.array} has memory for one tile at a time: {sink.name} "
                f"overwrites {sink.touched} for tile ({_joined(sink.tile)}) before {source.name} "
                f"has read it for tile ({_joined(source.tile)})."
            )
        case Cause.INTERRUPTED:
            return (
                f"Both tiles add to the element; {sink.name} reads it before what {source.name} "
                f"has read is written back, and the other way round: one addition is lost."
            )
        case _:
            return (
                f"Each iteration of parallel loop {violation.loop} has a buffer {violation.array} "
                f"of its own, and {source.name} and {sink.name} run in different ones: the value "
                "is not there when it is read."
            )


def _first(source: Occurrence, sink: Occurrence) -> str:
    if source.old is None or sink.old is None:
        return f"{source.name} must run before {sink.name}, which the schedule runs first"
    return f"The program runs {source.name} first, the schedule {sink.name}"


def _together_sentence(violation: Violation, source: Occurrence, sink: Occurrence) -> str:
    """Explain two instances that run at once: in lanes, on two threads, or in one instruction."""
    first, second = _value(source, violation.loop), _value(sink, violation.loop)
    if violation.cause is Cause.INSTRUCTION:
        return (
            f"One instruction computes iterations {first} and {second} of loop {violation.loop} "
            "and adds their terms in an order of its own; declare the reduction with "
            'order="any" to allow that.'
        )
    are_lanes = violation.kind is ViolationKind.VECTOR
    together = (
        f"Lanes {first} and {second} of vector loop {violation.loop} run together"
        if are_lanes
        else f"Iterations {first} and {second} of parallel loop {violation.loop} may run at once"
    )
    if violation.cause in (Cause.REDUCTION_LANES, Cause.REDUCTION_THREADS):
        return (
            f"{together}: the order of the reduction is free, but no two of its instances may "
            f"update {source.touched} at once."
        )
    if violation.dependence is DependenceKind.OUTPUT:
        return (
            f"{together}: both write {source.touched}, and which of the two stays is left to "
            "chance."
        )
    if are_lanes:
        return (
            f"{together}, all reads before all writes: {sink.name} reads {sink.touched} before "
            f"{source.name} has written it."
        )
    return f"{together}, or in either order: {source.name} must run before {sink.name}."


def _single_sentence(violation: Violation, source: Occurrence) -> str:
    match violation.cause:
        case Cause.OUTSIDE:
            shape = _joined(violation.shape)
            return (
                f"Access {source.access} of {source.name} is at {source.touched}; array "
                f"{violation.array} has the shape ({shape})."
            )
        case Cause.NEVER_WRITTEN:
            return (
                f"{source.name} reads {source.touched}, which starts undefined; write it first, or "
                f"declare {violation.array} inout."
            )
        case Cause.LIFETIME:
            return (
                f"{source.name} reads {source.touched}, which nothing has written into this memory."
            )
        case Cause.ADDED:
            return f"The schedule runs {source.name}, which is not an instance of the kernel."
        case _:
            return f"The schedule never runs {source.name}."


def _value(occurrence: Occurrence, loop: str | None) -> int:
    return next(value for name, value in occurrence.new or () if name == loop)
