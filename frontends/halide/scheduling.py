"""Translate directives into schedule steps; each directive is applied, or refused with a reason.

As in Halide, the loops of the output are split and reordered first; then each producer is moved to
its level, and its loops are split and reordered. Directives that set how loops run (vectorize,
unroll, parallel) come last, because they name the loops that result. ``compute_at`` is
:func:`polysched.schedule.primitives.compute_at.compute_at` with recomputation.

If ``compute_at`` leaves a producer's loop with a single iteration, the loop no longer exists;
unrolling or reordering it has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from polysched.errors import FrontendError, ScheduleError, StepError, suggestion
from polysched.frontends.halide import directives
from polysched.frontends.halide.inlining import Algorithm, Computed
from polysched.frontends.halide.language import Level
from polysched.ir.core.tree import path
from polysched.ir.expr.source import SourceLocation
from polysched.schedule.core.program import find_loop, largest_extent
from polysched.schedule.primitives.collapse import Collapse
from polysched.schedule.primitives.compute_at import ComputeAt
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.table import Step
from polysched.user import Schedule


@dataclass
class _Loops:
    """The loops of one statement, by the names of their variables.

    Attributes:
        names: the current loop of each variable; None if it has a single iteration and no loop.
    """

    statement: str
    label: str
    names: dict[str, str | None] = field(default_factory=dict)

    def loop(self, variable: str) -> str | None:
        """The loop of a variable, in the form that steps take.

        Raises:
            FrontendError: the stage has no such variable.
        """
        if variable not in self.names:
            raise FrontendError(
                f"{self.label} has no variable '{variable}'{suggestion(variable, self.names)}"
            )
        name = self.names[variable]
        return None if name is None else f"{self.statement}.{name}"

    def several(self, directive: str, *variables: str) -> list[str]:
        """The loops of several variables, which must all exist.

        Raises:
            FrontendError: a variable has no loop.
        """
        existing = []
        for variable in variables:
            loop = self.loop(variable)
            if loop is None:
                raise FrontendError(
                    f"{self.label}.{directive}: '{variable}' has one iteration where the Func is "
                    "computed, so there is no loop; leave the directive out"
                )
            existing.append(loop)
        return existing


def scheduled(schedule: Schedule, algorithm: Algorithm) -> Schedule:
    """Apply the directives of all Funcs.

    Raises:
        FrontendError: a directive cannot be applied; the message names it and its source line.
    """
    stages: dict[str, list[_Loops]] = {}
    for computed in algorithm.funcs:
        stages[computed.name] = [
            _Loops(
                computed.statement(number),
                definition.stage.label,
                {
                    name: name
                    for name in schedule.kernel.statements[computed.statement(number)].indices
                },
            )
            for number, definition in enumerate(computed.definitions)
        ]
    for computed in reversed(algorithm.funcs):
        level = computed.func.level
        if level is not None and level.consumer is not None:
            schedule = _computed_at(schedule, computed, level, stages)
        for loops, located in _directives(computed, stages, shaping=True):
            schedule = _applied(schedule, loops, located)
    for computed in reversed(algorithm.funcs):
        for loops, located in _directives(computed, stages, shaping=False):
            schedule = _applied(schedule, loops, located)
    return schedule


def _directives(
    computed: Computed, stages: Mapping[str, list[_Loops]], *, shaping: bool
) -> list[tuple[_Loops, directives.LocatedDirective]]:
    """A Func's directives up to its last split, reorder or fuse, or the directives after it."""
    selected = []
    for loops, definition in zip(stages[computed.name], computed.definitions, strict=True):
        recorded = definition.stage.directives
        end = _shaping_end(definition.stage)
        part = recorded[:end] if shaping else recorded[end:]
        selected += [(loops, located) for located in part]
    return selected


def _shaping_end(stage: directives.Stage) -> int:
    """The position after the last split, reorder or fuse of a stage."""
    shaping = [
        position
        for position, located in enumerate(stage.directives)
        if isinstance(located.directive, directives.SHAPING)
    ]
    return shaping[-1] + 1 if shaping else 0


def _computed_at(
    schedule: Schedule, computed: Computed, level: Level, stages: Mapping[str, list[_Loops]]
) -> Schedule:
    assert level.consumer is not None
    consumer = stages.get(level.consumer.name)
    where = _where(level.location)
    if consumer is None:
        raise FrontendError(
            f"{computed.name}.compute_at: Func '{level.consumer.name}' is not computed in this "
            f"pipeline, or is inline; expected a consumer with loops of its own{where}"
        )
    stage = next((loops for loops in reversed(consumer) if level.variable in loops.names), None)
    if stage is None:
        known = [name for loops in consumer for name in loops.names]
        raise FrontendError(
            f"{computed.name}.compute_at: Func '{level.consumer.name}' has no variable "
            f"'{level.variable}'{suggestion(level.variable, known)}{where}"
        )
    (at,) = stage.several("compute_at", level.variable)
    step = ComputeAt(computed.name, at, recompute=True)
    schedule = _stepped(schedule, step, f"{computed.name}.compute_at", level.location)
    target = at.partition(".")[2]
    for loops in stages[computed.name]:
        enclosing = [loop.name for loop in path(schedule.program.tree, loops.statement)]
        own = enclosing[enclosing.index(target) + 1 :]
        for variable, name in loops.names.items():
            inner = f"{name}_inner"
            loops.names[variable] = name if name in own else inner if inner in own else None
    return schedule


def _applied(schedule: Schedule, loops: _Loops, located: directives.LocatedDirective) -> Schedule:
    directive, location = located.directive, located.location
    name = type(directive).__name__.lower()
    try:
        for step in _APPLY[type(directive)](schedule, loops, directive):
            schedule = _stepped(schedule, step, f"{loops.label}.{name}", location)
    except FrontendError as error:
        where = "" if error.location else _where(location)
        raise FrontendError(f"{error}{where}", error.reason, error.location or location) from None
    return schedule


def _stepped(
    schedule: Schedule, step: Step, label: str, location: SourceLocation | None
) -> Schedule:
    try:
        return schedule.then(step, location)
    except StepError as error:
        raise FrontendError(
            f"{label}: {error.reason}{_where(location)}", error.reason, location
        ) from None
    except ScheduleError as error:
        raise FrontendError(f"{label}: {error}{_where(location)}", str(error), location) from None


def _where(location: SourceLocation | None) -> str:
    return "" if location is None else f" ({location})"


def _split(schedule: Schedule, loops: _Loops, directive: directives.Split) -> list[Step]:
    (loop,) = loops.several("split", directive.old)
    del loops.names[directive.old]
    loops.names |= {directive.outer: directive.outer, directive.inner: directive.inner}
    return [Split(loop, directive.factor, (directive.outer, directive.inner))]


def _reorder(schedule: Schedule, loops: _Loops, directive: directives.Reorder) -> list[Step]:
    outermost_first = [loops.loop(variable) for variable in reversed(directive.variables)]
    order = tuple(loop for loop in outermost_first if loop is not None)
    return [Reorder(order)] if len(order) > 1 else []


def _fuse(schedule: Schedule, loops: _Loops, directive: directives.Fuse) -> list[Step]:
    outer, inner = loops.several("fuse", directive.outer, directive.inner)
    del loops.names[directive.outer], loops.names[directive.inner]
    loops.names[directive.fused] = directive.fused
    return [Collapse(outer, inner, directive.fused)]


def _vectorize(schedule: Schedule, loops: _Loops, directive: directives.Vectorize) -> list[Step]:
    (loop,) = loops.several("vectorize", directive.variable)
    width = directive.width
    if width is None:
        width = largest_extent(schedule.program, find_loop(schedule.program, loop))
        if width is None:
            raise FrontendError(
                f"{loops.label}.vectorize: the extent of '{directive.variable}' is not known; "
                "expected a width"
            )
    return [Vectorize(loop, width)]


def _unroll(schedule: Schedule, loops: _Loops, directive: directives.Unroll) -> list[Step]:
    loop = loops.loop(directive.variable)
    return [] if loop is None else [Unroll(loop, directive.factor)]


def _parallel(schedule: Schedule, loops: _Loops, directive: directives.Parallel) -> list[Step]:
    (loop,) = loops.several("parallel", directive.variable)
    return [Parallel(loop)]


_APPLY: Mapping[type[directives.Directive], Callable[[Schedule, _Loops, Any], list[Step]]]
_APPLY = MappingProxyType(
    {
        directives.Split: _split,
        directives.Reorder: _reorder,
        directives.Fuse: _fuse,
        directives.Vectorize: _vectorize,
        directives.Unroll: _unroll,
        directives.Parallel: _parallel,
    }
)
