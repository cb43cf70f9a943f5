"""compute_at: run a producer inside a loop of its consumer."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError, suggestion
from polysched.ir.core.tree import LoopKind, path, statements
from polysched.schedule.buffers.placement import first_use, placed, taken_out
from polysched.schedule.buffers.recompute import recomputed
from polysched.schedule.core.program import Program, insertion_loop


@dataclass(frozen=True)
class ComputeAt:
    """Step record of :func:`compute_at`, which documents the fields."""

    producer: str
    at: str
    recompute: bool = False
    order: tuple[str, ...] | None = None


def compute_at(program: Program, step: ComputeAt) -> Program:
    """Compute a producer at the start of the iterations of a consumer's loop that read its values.

    By default nothing is computed twice: an instance that several iterations need runs in the first
    of them, so these iterations must keep their order. With ``recompute=True`` every iteration
    computes all values that it reads, into a buffer of its own: overlapped tiles, which can run in
    parallel. See :func:`polysched.schedule.buffers.recompute.recomputed`.

    The producer keeps its loops that still have more than one iteration there; they count from 0. A
    loop whose name is also around the target is renamed ``<loop>_inner``.

    Args:
        producer (str): a statement, or an array: all the statements that write it move.
        at (str): a loop around a consumer.
        recompute (bool): whether every iteration computes all values that it reads.
        order (tuple[str, ...] | None): with ``recompute``, the array's dimensions in the buffer's
            order, the contiguous one last, so that the values are computed in packed order; by
            default the array's own order.

    before::

        for i in 0..n: P(i)
        for i in 0..n: C(i)

    after ``split("C.i", 8).compute_at("P", at="io")``::

        for io in 0..ceil(n / 8):
          for i in 0..min(8, n - 8*io): P(8*io + i)
          for ii in 0..min(8, n - 8*io): C(8*io + ii)

    Checks:
        - ``producer`` is a statement or a written array, and not below the loop yet, else
          ``StepError``.
        - ``at`` is sequential or parallel and has no prefetch, else ``StepError``.
        - The loop reads a value of every instance of the producer, else ``StepError``.
        - No statement ends up in two vector loops, else ``StepError``.
        - ``order`` is given only with ``recompute``, and names each dimension once, else
          ``StepError``.
        - With ``recompute``, the array is a temporary with affine subscripts, all its writers move,
          all its other readers are below the loop, a producer reads of the array only the element
          that it updates, and a tile reads a bounded part of it, else ``StepError``.
        - Legality: the moved instances keep every dependence, else ``IllegalScheduleError``.
    """
    producers = _producers(program, step)
    target = insertion_loop(program, step.at)
    if producers & frozenset(statements(target)):
        raise ScheduleError(
            f"'{step.producer}' is below loop '{step.at}' already; compute_at moves a producer "
            "that runs elsewhere"
        )
    if step.recompute:
        copied = recomputed(program, producers, target, step.at, step.order)
        _require_one_vector(copied, producers, step)
        return copied
    if step.order is not None:
        raise ScheduleError(
            f"order={step.order!r} needs recompute=True, which makes the buffer that it orders; "
            "leave order= away, or privatize the array with an order"
        )
    nest, rest = taken_out(program, producers)
    first = {
        name: first_use(program, program.dependences, name, target, step.at)
        for name in sorted(producers)
    }
    moved = program.with_tree(placed(program, nest, rest, target, first))
    _require_one_vector(moved, producers, step)
    return moved


def _require_one_vector(moved: Program, producers: frozenset[str], step: ComputeAt) -> None:
    """Check that no moved producer runs in two vector loops.

    Raises:
        ScheduleError: a producer's vector loop is now inside another vector loop.
    """
    for name in sorted(producers):
        vectors = [loop for loop in path(moved.tree, name) if loop.kind is LoopKind.VECTOR]
        if len(vectors) > 1:
            outer, inner = vectors[0].name, vectors[-1].name
            raise ScheduleError(
                f"statement '{name}' runs in vector loop '{inner}', and loop '{step.at}' runs in "
                f"vector loop '{outer}': a statement runs in one vector loop at most. Compute "
                f"'{step.producer}' at a loop outside of '{outer}', or leave '{inner}' a loop"
            )


def _producers(program: Program, step: ComputeAt) -> frozenset[str]:
    if step.producer in program.statements:
        return frozenset({step.producer})
    writers = frozenset(
        name
        for name, statement in program.statements.items()
        if statement.target.array == step.producer
    )
    if not writers:
        known = {*program.statements, *(s.target.array for s in program.statements.values())}
        raise ScheduleError(
            f"'{step.producer}' is neither a statement nor an array that a statement writes"
            f"{suggestion(step.producer, known)}"
        )
    return writers
