"""The table of primitives: maps the record of each step to the function that applies it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from polysched.instructions.declaration import Instruction
from polysched.schedule.core.program import Program
from polysched.schedule.limits import require_within_limits
from polysched.schedule.primitives.collapse import Collapse, collapse
from polysched.schedule.primitives.compute_at import ComputeAt, compute_at
from polysched.schedule.primitives.distribute import Distribute, distribute
from polysched.schedule.primitives.divide import Divide, divide
from polysched.schedule.primitives.fold_storage import FoldStorage, fold_storage
from polysched.schedule.primitives.fuse import Fuse, fuse
from polysched.schedule.primitives.inline import Inline, inline
from polysched.schedule.primitives.pack import Pack, pack
from polysched.schedule.primitives.parallel import Parallel, parallel
from polysched.schedule.primitives.prefetch import Prefetch, prefetch, require_prefetches
from polysched.schedule.primitives.privatize import Privatize, privatize
from polysched.schedule.primitives.promote import Promote, promote
from polysched.schedule.primitives.reorder import Reorder, reorder
from polysched.schedule.primitives.reverse import Reverse, reverse
from polysched.schedule.primitives.rfactor import Rfactor, rfactor
from polysched.schedule.primitives.shift import Shift, shift
from polysched.schedule.primitives.simplify import Simplify, simplify
from polysched.schedule.primitives.skew import Skew, skew
from polysched.schedule.primitives.split import Split, split
from polysched.schedule.primitives.stream import Stream, stream
from polysched.schedule.primitives.tensorize import Tensorize, require_instructions, tensorize
from polysched.schedule.primitives.tile import Tile, tile
from polysched.schedule.primitives.transpose import Transpose, transpose
from polysched.schedule.primitives.unroll import Unroll, unroll
from polysched.schedule.primitives.vectorize import Vectorize, vectorize
from polysched.schedule.primitives.vectorize_reduction import (
    VectorizeReduction,
    vectorize_reduction,
)

Step: TypeAlias = (
    Collapse
    | ComputeAt
    | FoldStorage
    | Distribute
    | Fuse
    | Inline
    | Pack
    | Parallel
    | Divide
    | Prefetch
    | Privatize
    | Promote
    | Reorder
    | Reverse
    | Rfactor
    | Shift
    | Simplify
    | Skew
    | Split
    | Stream
    | Tensorize
    | Tile
    | Transpose
    | Unroll
    | Vectorize
    | VectorizeReduction
)

PRIMITIVES: Mapping[type[Any], Callable[[Program, Any], Program]] = MappingProxyType(
    {
        Collapse: collapse,
        ComputeAt: compute_at,
        FoldStorage: fold_storage,
        Distribute: distribute,
        Fuse: fuse,
        Inline: inline,
        Pack: pack,
        Parallel: parallel,
        Divide: divide,
        Prefetch: prefetch,
        Privatize: privatize,
        Promote: promote,
        Reorder: reorder,
        Reverse: reverse,
        Rfactor: rfactor,
        Shift: shift,
        Simplify: simplify,
        Skew: skew,
        Split: split,
        Stream: stream,
        Tensorize: tensorize,
        Tile: tile,
        Transpose: transpose,
        Unroll: unroll,
        Vectorize: vectorize,
        VectorizeReduction: vectorize_reduction,
    }
)


def transform(program: Program, step: Step) -> Program:
    """Apply one step to a program.

    Raises:
        ScheduleError: the step does not fit the program, or its result exceeds a limit.
    """
    changed = PRIMITIVES[type(step)](program, step)
    require_within_limits(program, changed)
    require_prefetches(changed)
    require_instructions(changed)
    return changed


def primitive_name(step: Step) -> str:
    """Return the primitive's name as users write it: ``split``."""
    return PRIMITIVES[type(step)].__name__


def format_step(step: Step) -> str:
    """Return the step as the call that makes it: ``split('c', factor=64, into=('co', 'ci'))``."""
    shown = [
        f"{field}={_text(getattr(step, field))}"
        for field, spec in type(step).__dataclass_fields__.items()
        if getattr(step, field) != spec.default
    ]
    return f"{primitive_name(step)}({', '.join(shown)})"


def _text(argument: object) -> str:
    return repr(argument.name if isinstance(argument, Instruction) else argument)
