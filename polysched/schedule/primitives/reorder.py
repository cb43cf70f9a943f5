"""reorder: permute the loops of a perfect nest."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Loop, Node, nested, statements
from polysched.schedule.core.program import Program, find_loop, prefix_loops


@dataclass(frozen=True)
class Reorder:
    """Step record of :func:`reorder`, which documents the field."""

    order: tuple[str, ...]


def reorder(program: Program, step: Reorder) -> Program:
    """Permute loops of one perfect nest into the given order, the outermost first.

    The named loops fill the levels that they held before; every other loop of the nest keeps its
    level.

    Args:
        order (tuple[str, ...]): the loops in their new order.

    before::

        for i in 0..n:
          for j in 0..m: S(i, j)

    after ``reorder("j", "i")``::

        for j in 0..m:
          for i in 0..n: S(i, j)

    Checks:
        - ``order`` names at least one loop and no loop twice, else ``StepError``.
        - The loops form one perfect nest, else ``StepError``.
        - Legality: the new order keeps every dependence, else ``IllegalScheduleError``.
    """
    if not step.order:
        raise ScheduleError("reorder() names no loop; expected the loops in their new order")
    named = [find_loop(program, reference) for reference in step.order]
    for position, loop in enumerate(named):
        if any(loop is other for other in named[:position]):
            raise ScheduleError(f"reorder names loop '{step.order[position]}' twice")
    if len(named) < 2:
        return program
    nest = perfect_nest(program, step.order, named)
    wanted = iter(named)
    levels = tuple(next(wanted) if _contains(named, loop) else loop for loop in nest)
    return program.with_node(nest[0], nested(levels, nest[-1].body))


def perfect_nest(program: Program, references: tuple[str, ...], named: list[Loop]) -> list[Loop]:
    """Return the chain of loops from the outermost to the innermost of ``named``.

    Raises:
        ScheduleError: the loops are not in one chain, or a sequence is between them.
    """
    outermost = min(named, key=lambda loop: len(prefix_loops(program, loop)))
    chain: list[Loop] = []
    node: Node = outermost
    while isinstance(node, Loop):
        chain.append(node)
        node = node.body
    for reference, loop in zip(references, named, strict=True):
        if not _contains(chain, loop):
            between = ", ".join(statements(node))
            raise ScheduleError(
                f"loops {', '.join(map(repr, references))} are not perfectly nested: "
                f"'{reference}' is "
                f"not alone below '{outermost.name}', which holds a sequence of {between}; "
                "distribute that loop first or name loops of one nest"
            )
    last = max(index for index, loop in enumerate(chain) if _contains(named, loop))
    return chain[: last + 1]


def _contains(loops: list[Loop], wanted: Loop) -> bool:
    return any(loop is wanted for loop in loops)
