"""tensorize: compute a loop nest by one machine instruction."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from polysched.errors import InstructionError, LoopReferenceError, ScheduleError
from polysched.instructions.declaration import Instruction
from polysched.instructions.lookup import Forms, instruction_forms
from polysched.instructions.matching import Mismatch, match_statement
from polysched.ir.core.tree import InstructionMark, Leaf, Loop, LoopKind, loops
from polysched.schedule.core.program import Program, find_loop, largest_extent


@dataclass(frozen=True)
class Tensorize:
    """Step record of :func:`tensorize`, which documents the fields."""

    loop: str
    instruction: str | Instruction


def tensorize(program: Program, step: Tensorize) -> Program:
    """Compute a loop nest by one machine instruction.

    The nest is the loop with all loops inside it. It must compute what the instruction computes: a
    vector loop over the lanes, an unrolled loop over the terms of each lane's sum, and one
    statement. The loops may be in any order. The names of known instructions are ``"vpdpbusd"``,
    ``"vpdpwssd"``, ``"vpmaddwd"``, ``"vdpbf16ps"`` and ``"vpsadbw"``, and of AMX ``"tdpbssd"``,
    ``"tdpbsud"``, ``"tdpbusd"``, ``"tdpbuud"``, ``"tdpbf16ps"`` and ``"tilezero"``;
    :class:`polysched.Instruction` declares others.

    An operand may be a constant, an array of a narrower integer type, or the same element for all
    lanes. A sum of elements is a sum of products with 1. Lanes that do not run are masked. Where
    the nest runs fewer terms than the instruction takes (the end of a longer loop), ordinary code
    computes them.

    An instruction on tiles has a loop over rows too. Its operands are rows of consecutive elements
    in memory. A nest may run fewer rows, lanes or groups of terms, by literal numbers. Tiles that
    neighboring calls and the loops around them write stay in tile registers, if these suffice.

    Args:
        loop (str): the outermost loop of the nest.
        instruction (str | Instruction): the name of an instruction, or an instruction of your own.

    before::

        vector nv in 0..16:
          unrolled r in 0..4: s[nv] += i32(x[r]) * i32(y[nv, r])

    after ``tensorize("nv", "vpdpbusd")``, in machine code::

        vpdpbusd s[0..16], x[0..4], y[0..16, 0..4]

    Checks:
        - The nest has as many loops as the instruction, nested directly around one statement: one
          vector loop, the others unrolled (or sequential for a tile, which may have fewer loops),
          else ``StepError``.
        - The statement computes what the instruction computes, on arrays of the same types, and
          reads no operand from the array that it writes, else ``StepError``.
        - The trip counts are those of the instruction, or smaller for a tile, else ``StepError``.
        - A later step leaves the nest as it is, else ``StepError``.
        - The elements of each operand are in memory as the instruction takes them, at least one run
          of the nest is complete, and the machine has the instruction, else ``LoweringError`` when
          the schedule is compiled.
        - Legality: as without this step, if the instruction adds the terms in their order or if any
          order has the same bits (integers). Otherwise the statement must be a reduction with
          ``order="any"``, else ``IllegalScheduleError``.
    """
    try:
        name, forms = instruction_forms(step.instruction, program.instructions)
    except InstructionError as error:
        raise ScheduleError(str(error)) from None
    outermost = find_loop(program, step.loop)
    if outermost.instruction is not None:
        raise ScheduleError(
            f"loop '{step.loop}' is computed by '{outermost.instruction.instruction}' already; "
            "take one of the two steps away"
        )
    nest = _nest(outermost, step.loop, forms[0])
    _require_meaning(program, nest, forms)
    fitting = _with_extents(program, nest, forms)
    reassociates = any(form.reassociates for form in fitting)
    mark = InstructionMark(name, outermost.name, reassociates, forms[0].is_tile)

    def marked(loop: Loop) -> Loop:
        body = marked(loop.body) if isinstance(loop.body, Loop) else loop.body
        kind = LoopKind.UNROLLED if loop.kind is LoopKind.SEQUENTIAL else loop.kind
        return replace(loop, body=body, kind=kind, instruction=mark)

    changed = program.with_node(outermost, marked(outermost))
    return replace(changed, instructions={**program.instructions, name: forms})


def require_instructions(program: Program) -> None:
    """Check that every marked nest still computes what its instruction computes.

    Raises:
        ScheduleError: a step has changed the loops or the statement of a nest.
    """
    checked: set[InstructionMark] = set()
    for loop in loops(program.tree):
        mark = loop.instruction
        if mark is None or loop.name != mark.loop:
            continue
        checked.add(mark)
        forms = program.instructions[mark.instruction]
        try:
            _require_meaning(program, _nest(loop, loop.name, forms[0]), forms)
        except ScheduleError as error:
            raise ScheduleError(
                f"after this step, '{mark.instruction}' does not compute the nest of loop "
                f"'{mark.loop}' any more: {error}"
            ) from None
    for loop in loops(program.tree):
        mark = loop.instruction
        if mark is not None and mark not in checked:
            raise ScheduleError(
                f"after this step, loop '{mark.loop}' of '{mark.instruction}' is not around loop "
                f"'{loop.name}' any more; tensorize after this step"
            )


def _nest(outermost: Loop, reference: str, form: Instruction) -> list[Loop]:
    """Return the loops of the nest, outermost first.

    Raises:
        ScheduleError: they are not the loops of an instruction.
    """
    nest = [outermost]
    while isinstance(nest[-1].body, Loop):
        nest.append(nest[-1].body)
    inner = nest[-1]
    if not isinstance(inner.body, Leaf):
        raise ScheduleError(
            f"loop '{inner.name}' holds the statements {', '.join(inner.statements)}; {form.name} "
            f"computes one statement: distribute '{inner.name}'"
        )
    wanted = ", ".join(f"{name} in 0..{extent}" for name, extent in form.extents.items())
    is_partial = form.is_tile and len(nest) < len(form.extents)
    if len(nest) != len(form.extents) and not is_partial:
        names = ", ".join(f"'{loop.name}'" for loop in nest)
        advice = "reorder the loops so that only these are inside"
        inside = nest[-len(form.extents) :]
        if len(nest) > len(inside) and any(loop.kind is LoopKind.VECTOR for loop in inside):
            advice = f"name loop '{inside[0].name}'"
        raise ScheduleError(
            f"the nest of loop '{reference}' is {names}; {form.name} computes the nest {wanted}: "
            f"{advice}"
        )
    vectors = [loop for loop in nest if loop.kind is LoopKind.VECTOR]
    for loop in nest:
        if loop.kind is LoopKind.SEQUENTIAL and form.is_tile:
            continue
        if loop.kind not in (LoopKind.VECTOR, LoopKind.UNROLLED):
            advice = "unroll" if vectors else "vectorize"
            raise LoopReferenceError(
                loop.name,
                f"loop '{loop.name}' has kind '{loop.kind.value}'; {form.name} takes a vector loop "
                "over the lanes and unrolled loops over the rest",
                f"; {advice} it first",
            )
        if loop.transposition is not None:
            raise ScheduleError(
                f"vector loop '{loop.name}' is transposed in registers, and {form.name} reads its "
                "operands as they are in memory; take one of the two steps away"
            )
    if len(vectors) != 1:
        raise LoopReferenceError(
            reference,
            f"no loop of the nest of '{reference}' is a vector loop; {form.name} takes a vector "
            "loop over the lanes",
            "; vectorize the loop over the lanes first",
        )
    return nest


def _require_meaning(program: Program, nest: list[Loop], forms: Forms) -> None:
    statement = program.statements[nest[-1].statements[0]]
    matches = [
        match_statement(form, statement.target, statement.value, program.arrays) for form in forms
    ]
    reasons = [match.reason for match in matches if isinstance(match, Mismatch)]
    if len(reasons) == len(forms):
        raise ScheduleError(f"statement '{statement.name}' does not match: {reasons[0]}")


def _with_extents(program: Program, nest: list[Loop], forms: Forms) -> Forms:
    """Return the forms whose trip counts are those of the nest.

    Raises:
        ScheduleError: there are none.
    """
    (vector,) = (loop for loop in nest if loop.kind is LoopKind.VECTOR)
    unrolled = [loop for loop in nest if loop is not vector]
    trips = [largest_extent(program, loop) for loop in unrolled]
    lanes = dict.fromkeys(form.extents[form.lane_dimensions[-1]] for form in forms)
    if vector.lanes not in lanes:
        raise ScheduleError(
            f"vector loop '{vector.name}' has {vector.lanes} lanes; {forms[0].name} takes "
            f"{' or '.join(map(str, lanes))}"
        )
    others: dict[tuple[int, ...], None] = {}
    fitting = []
    for form in forms:
        lane = form.lane_dimensions[-1]
        wanted = [extent for name, extent in form.extents.items() if name != lane]
        others[tuple(wanted)] = None
        if form.extents[lane] == vector.lanes and _fits(form, wanted, trips):
            fitting.append(form)
    if fitting:
        return tuple(fitting)
    names = ", ".join(f"'{loop.name}'" for loop in unrolled)
    given = ", ".join("an unknown number of" if trip is None else str(trip) for trip in trips)
    wanted_trips = " or ".join(", ".join(map(str, extents)) for extents in others)
    raise ScheduleError(
        f"loop {names} runs {given} iterations; {forms[0].name} takes {wanted_trips}: split it by "
        "that number"
    )


def _fits(form: Instruction, extents: Sequence[int], trips: Sequence[int | None]) -> bool:
    """Whether a form computes a nest with these trip counts; None is an unknown number."""
    known = [trip for trip in trips if trip is not None]
    if len(known) < len(trips):
        return False
    if not form.is_tile:
        return sorted(extents) == sorted(known)
    return any(all(map(operator.le, known, chosen)) for chosen in permutations(extents, len(known)))
