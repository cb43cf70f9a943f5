"""transpose: choose how a vector loop accesses memory across rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import LoopReferenceError, ScheduleError, suggestion
from polysched.ir.core.tree import (
    Loop,
    LoopKind,
    TransposeDirective,
    TransposeStrategy,
    path,
)
from polysched.schedule.core.program import Program, find_loop, require_positive

_NAMES = tuple(strategy.value for strategy in TransposeStrategy)


@dataclass(frozen=True)
class Transpose:
    """Step record of :func:`transpose`, which documents the fields."""

    loop: str
    across: str
    strategy: str = TransposeStrategy.NETWORK.value
    fewest: int = 2


def transpose(program: Program, step: Transpose) -> Program:
    """Transpose tiles of a vector loop and an unrolled loop in registers.

    The lanes of the vector loop lie rows apart in memory. Instead of gathers or scatters, whole
    rows are loaded (or stored), and the tile is transposed by shuffles. Without this step such
    accesses are gathers and scatters. A tile has as many columns as fit half the registers; the
    copies of a longer loop make several tiles.

    Args:
        loop (str): the vector loop.
        across (str): the unrolled loop, which runs along the elements of a row.
        strategy (str): ``"network"`` (stages of two-input shuffles), ``"shuffle_1d"`` (one shuffle
            of the whole tile), ``"eltwise"`` (extract and insert each element) or ``"gather"`` (no
            tile: gather and scatter).
        fewest (int): the smallest number of columns of a tile. Where fewer are left, at the end of
            a row, they are gathered or scattered.

    before::

        unrolled ji in 0..16:
          vector ii in 0..16: y[ji, ii] = x[ii, ji]       16 gathers, 16 stores

    after ``transpose("ii", "ji")``, in machine code::

        16 loads of x[ii, 0..16], 64 shuffles, 16 stores of y[ji, 0..16]

    Checks:
        - ``loop`` is a vector loop, ``across`` an unrolled loop, else ``StepError``.
        - Every statement in the vector loop is in the unrolled loop too, else ``StepError``.
        - ``strategy`` is one of the four and ``fewest`` is positive, else ``StepError``; the
          accesses of the compiled loops have tiles, else ``LoweringError``.
        - Legality: always legal; the iterations keep their order.
    """
    if step.strategy not in _NAMES:
        raise ScheduleError(
            f"unknown strategy {step.strategy!r} of transpose('{step.loop}')"
            f"{suggestion(step.strategy, _NAMES)}"
        )
    require_positive(f"the fewest columns of transpose('{step.loop}')", step.fewest)
    loop = find_loop(program, step.loop)
    if loop.instruction is not None:
        raise ScheduleError(
            f"loop '{step.loop}' is computed by '{loop.instruction.instruction}'; take one of the "
            "two steps away"
        )
    _require_kind(loop, step.loop, LoopKind.VECTOR, "vectorize it first")
    across = find_loop(program, step.across)
    _require_kind(across, step.across, LoopKind.UNROLLED, "unroll it first")
    for statement in loop.values:
        if not any(outer is across for outer in path(program.tree, statement)):
            raise ScheduleError(
                f"statement '{statement}' runs in vector loop '{step.loop}' but not in the "
                f"unrolled loop '{step.across}'; distribute '{step.loop}' so that each "
                "has one of its own"
            )
    directive = TransposeDirective(TransposeStrategy(step.strategy), step.fewest)
    return program.with_node(loop, replace(loop, transposition=directive))


def _require_kind(loop: Loop, reference: str, kind: LoopKind, advice: str) -> None:
    if loop.kind is not kind:
        raise LoopReferenceError(
            reference,
            f"loop '{reference}' has kind '{loop.kind.value}'; expected '{kind.value}'",
            f"; {advice}",
        )
