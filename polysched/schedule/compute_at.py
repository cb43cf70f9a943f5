"""compute_at: a producer runs inside its consumer's loop."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError, suggestion
from polysched.ir.tree import LoopKind, path, restrict, statements
from polysched.schedule.placement import first_use, placed
from polysched.schedule.program import Program, counted_loop
from polysched.schedule.recompute import recomputed


@dataclass(frozen=True)
class ComputeAt:
    """Run the statements that produce an array at the start of an iteration of the consumer's loop.

    Args:
        producer: a statement, or an array: all the statements that write it move.
        at: a loop around a consumer.
        recompute: whether every iteration computes all that it reads, what another one has computed
            too once more, into a buffer of its own: overlapped tiles.
        order: with ``recompute``, the array's dimensions in the buffer's order, the contiguous one
            last: what would be packed is computed in that place. By default the array's own order.
    """

    producer: str
    at: str
    recompute: bool = False
    order: tuple[str, ...] | None = None


def compute_at(program: Program, step: ComputeAt) -> Program:
    """Run each producer instance in the first iteration of the loop that reads what it produces.

    Nothing is computed twice: an instance needed by several iterations runs in the first of them,
    so those must keep their order. Where they shall not (tiles that run in parallel), or where a
    tile shall have a buffer of its own, ``recompute=True`` computes it in each of them; see
    :func:`polysched.schedule.recompute.recomputed`.

    The producer keeps those of its own loops that still have something to count, now from 0; a loop
    whose name is also around it is renamed ``<loop>_inner``.

    before::

        for i in 0..n: P(i)
        for i in 0..n: C(i)

    after ``split("C.i", 8).compute_at("P", at="io")``::

        for io in 0..ceil(n / 8):
          for i in 0..min(8, n - 8*io): P(8*io + i)
          for ii in 0..min(8, n - 8*io): C(8*io + ii)
    """
    producers = _producers(program, step)
    target = counted_loop(program, step.at)
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
            f"order={step.order!r} is of the buffer that recompute=True makes; without it the "
            "array stays where it is: leave order= away, or privatize the array with an order"
        )
    nest = restrict(program.tree, producers)
    rest = restrict(program.tree, frozenset(program.statements) - producers)
    assert nest is not None
    assert rest is not None
    first = {
        name: first_use(program, program.dependences, name, target, step.at)
        for name in sorted(producers)
    }
    moved = program.with_tree(placed(program, nest, rest, target, first))
    _require_one_vector(moved, producers, step)
    return moved


def _require_one_vector(moved: Program, producers: frozenset[str], step: ComputeAt) -> None:
    """Check that no producer has come with its vector loop into another one.

    Raises:
        ScheduleError: one has.
    """
    for name in sorted(producers):
        vectors = [one for one in path(moved.tree, name) if one.kind is LoopKind.VECTOR]
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
            f"no statement is, and none writes, '{step.producer}'{suggestion(step.producer, known)}"
        )
    return writers
