"""transpose: how vectors are made whose lanes lie rows apart in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import LoopReferenceError, ScheduleError, suggestion
from polysched.ir.tree import Loop, LoopKind, Node, TransposeStrategy, path, rewrite
from polysched.schedule.program import Program, find_loop

_NAMES = tuple(one.value for one in TransposeStrategy)


@dataclass(frozen=True)
class Transpose:
    """Transpose tiles of a vector loop and an unrolled one in registers.

    Args:
        loop: the vector loop.
        across: the unrolled loop, which goes to the neighboring element of every row.
        strategy: ``"network"`` (stages of two-input shuffles), ``"shuffle_1d"`` (one shuffle of the
            whole tile), ``"eltwise"`` (each element by itself) or ``"gather"`` (no tile: gathers
            and scatters).
    """

    loop: str
    across: str
    strategy: str = TransposeStrategy.NETWORK.value


def transpose(program: Program, step: Transpose) -> Program:
    """Load rows and transpose them in registers instead of gathering; or scattering, the like.

    Nothing changes its place in time. Without this step the code generator decides; with it, a
    strategy that cannot be had is an error when the loops are compiled.

    before::

        unrolled ji in 0..16:
          vector ii in 0..16: y[ji, ii] = x[ii, ji]       16 gathers, 16 stores

    after ``transpose("ii", "ji")``, in machine code::

        16 loads of x[ii, 0..16], 64 shuffles, 16 stores of y[ji, 0..16]
    """
    if step.strategy not in _NAMES:
        raise ScheduleError(
            f"unknown strategy {step.strategy!r} of transpose('{step.loop}')"
            f"{suggestion(step.strategy, _NAMES)}"
        )
    loop = find_loop(program, step.loop)
    _require_kind(loop, step.loop, LoopKind.VECTOR, "vectorize it first")
    across = find_loop(program, step.across)
    _require_kind(across, step.across, LoopKind.UNROLLED, "unroll it first")
    for statement in loop.values:
        if not any(one is across for one in path(program.tree, statement)):
            raise ScheduleError(
                f"statement '{statement}' runs in vector loop '{step.loop}' but not in the "
                f"unrolled loop '{step.across}'; distribute '{step.loop}' so that each "
                "has one of its own"
            )

    def marked(node: Node) -> Node:
        assert isinstance(node, Loop)
        return replace(node, transposition=TransposeStrategy(step.strategy))

    return program.with_tree(rewrite(program.tree, loop, marked))


def _require_kind(loop: Loop, reference: str, kind: LoopKind, advice: str) -> None:
    if loop.kind is not kind:
        raise LoopReferenceError(
            reference,
            f"loop '{reference}' is no {kind.value} loop; its kind is '{loop.kind.value}'",
            f"; {advice}",
        )
