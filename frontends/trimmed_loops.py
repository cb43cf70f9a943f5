"""Check that code generation trims the loops of a kernel whose bounds are data."""

from __future__ import annotations

from collections.abc import Iterable

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.traversal import loads
from polysched.loops.generate import generate_loops
from polysched.loops.ir.nodes import For, walk
from polysched.loops.trim_no_ops import trim_no_ops
from polysched.schedule.schedule import Schedule

UNTRIMMED = (
    "the bounds of this loop are data, and some of its statements would run in all iterations that "
    "these may select; expected a body that only changes arguments, numbers and elements"
)


def untrimmed_loop(kernel: Kernel, names: Iterable[str]) -> str | None:
    """The first of some loops that runs all iterations which data may select; None if none does."""
    candidates = list(names)
    if not candidates:
        return None
    try:
        loops = trim_no_ops(generate_loops(Schedule(kernel).program))
    except LoweringError:
        return candidates[0]
    for node in walk(loops.body):
        if isinstance(node, For) and node.loop in candidates and not _reads(node):
            return node.loop
    return None


def _reads(loop: For) -> bool:
    return bool(loads(loop.lower) or loads(loop.upper))
