"""reverse: a loop runs backwards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.ir.tree import Loop, Node, rewrite
from polysched.schedule.program import Program, sequential_loop


@dataclass(frozen=True)
class Reverse:
    """Run the iterations of a loop from the last to the first."""

    loop: str


def reverse(program: Program, step: Reverse) -> Program:
    """Negate the loop's values, so that the last iteration comes first.

    before::

        for i in 0..n: S(i)

    after ``reverse("i")``::

        for i in -n + 1..1: S(-i)
    """
    loop = sequential_loop(program, step.loop)

    def reversed_loop(node: Node) -> Node:
        assert isinstance(node, Loop)
        return replace(node, values={name: value.neg() for name, value in node.values.items()})

    return program.with_tree(rewrite(program.tree, loop, reversed_loop))
