"""From directives to the steps of a schedule: each is applied, or refused with a reason.

The output's loops are shaped first, then each producer is put where it belongs and its loops are
shaped, as Halide does it; how loops run is said afterwards, since it names loops that are there
then. ``compute_at`` is :func:`polysched.schedule.compute_at.compute_at` with recomputation.

A loop that has one iteration left, where ``compute_at`` has put a producer into its consumer's
tile, is no loop any more: to unroll it or to give it a place means nothing, and does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from polysched.errors import FrontendError, ScheduleError, StepError, suggestion
from polysched.frontends.halide import directives as asked
from polysched.frontends.halide.inlining import Algorithm, Computed
from polysched.frontends.halide.language import Level
from polysched.ir.source import SourceLocation
from polysched.ir.tree import path
from polysched.schedule.collapse import Collapse
from polysched.schedule.compute_at import ComputeAt
from polysched.schedule.parallel import Parallel
from polysched.schedule.primitives import Step
from polysched.schedule.program import find_loop, largest_extent
from polysched.schedule.reorder import Reorder
from polysched.schedule.split import Split
from polysched.schedule.unroll import Unroll
from polysched.schedule.vectorize import Vectorize
from polysched.user import Schedule


@dataclass
class _Loops:
    """The loops of one statement by the names of their variables.

    Attributes:
        statement: its name.
        label: what messages call its stage.
        names: the loop that a variable is now; None if it has one iteration and is no loop.
    """

    statement: str
    label: str
    names: dict[str, str | None] = field(default_factory=dict)

    def loop(self, variable: str) -> str | None:
        """The loop of a variable as steps refer to it.

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
        """The loops of variables that all have to be there.

        Raises:
            FrontendError: one is not.
        """
        found = []
        for variable in variables:
            loop = self.loop(variable)
            if loop is None:
                raise FrontendError(
                    f"{self.label}.{directive}: '{variable}' has one iteration where the Func is "
                    "computed, so there is no loop; leave the directive out"
                )
            found.append(loop)
        return found


def scheduled(schedule: Schedule, algorithm: Algorithm) -> Schedule:
    """Apply the directives of all Funcs.

    Args:
        schedule: that of the kernel, without steps.
        algorithm: what the kernel computes.

    Raises:
        FrontendError: a directive cannot be applied; the message names it and its place.
    """
    stages: dict[str, list[_Loops]] = {}
    for computed in algorithm.funcs:
        stages[computed.name] = [
            _Loops(
                computed.statement(number),
                one.stage.label,
                {
                    name: name
                    for name in schedule.kernel.statements[computed.statement(number)].indices
                },
            )
            for number, one in enumerate(computed.definitions)
        ]
    for computed in reversed(algorithm.funcs):
        level = computed.func.level
        if level is not None and level.consumer is not None:
            schedule = _computed_at(schedule, computed, level, stages)
        for loops, given in _directives(computed, stages, shaping=True):
            schedule = _applied(schedule, loops, given)
    for computed in reversed(algorithm.funcs):
        for loops, given in _directives(computed, stages, shaping=False):
            schedule = _applied(schedule, loops, given)
    return schedule


def _directives(
    computed: Computed, stages: Mapping[str, list[_Loops]], *, shaping: bool
) -> list[tuple[_Loops, asked.Given]]:
    """The directives of a Func up to the last one that makes loops, or those after it."""
    found = []
    for loops, one in zip(stages[computed.name], computed.definitions, strict=True):
        end = _shaped(one.stage)
        given = one.stage.directives[:end] if shaping else one.stage.directives[end:]
        found += [(loops, each) for each in given]
    return found


def _shaped(stage: asked.Stage) -> int:
    """How many directives of a stage there are up to the last one that makes loops."""
    places = [n for n, g in enumerate(stage.directives) if isinstance(g.directive, asked.SHAPING)]
    return places[-1] + 1 if places else 0


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
    stage = next((one for one in reversed(consumer) if level.variable in one.names), None)
    if stage is None:
        known = [name for one in consumer for name in one.names]
        raise FrontendError(
            f"{computed.name}.compute_at: Func '{level.consumer.name}' has no variable "
            f"'{level.variable}'{suggestion(level.variable, known)}{where}"
        )
    (at,) = stage.several("compute_at", level.variable)
    step = ComputeAt(computed.name, at, recompute=True)
    schedule = _stepped(schedule, step, f"{computed.name}.compute_at", level.location)
    target = at.partition(".")[2]
    for loops in stages[computed.name]:
        around = [loop.name for loop in path(schedule.program.tree, loops.statement)]
        own = around[around.index(target) + 1 :]
        for variable, name in loops.names.items():
            inner = f"{name}_inner"
            loops.names[variable] = name if name in own else inner if inner in own else None
    return schedule


def _applied(schedule: Schedule, loops: _Loops, given: asked.Given) -> Schedule:
    directive, location = given.directive, given.location
    name = type(directive).__name__.lower()
    try:
        for step in _APPLY[type(directive)](schedule, loops, directive):
            schedule = _stepped(schedule, step, f"{loops.label}.{name}", location)
    except FrontendError as error:
        raise FrontendError(f"{error}{_where(location)}", error.reason, location) from None
    return schedule


def _stepped(
    schedule: Schedule, step: Step, label: str, location: SourceLocation | None
) -> Schedule:
    try:
        return schedule.then(step, location)
    except StepError as error:
        raise FrontendError(f"{label}: {error.reason}{_where(location)}", error.reason) from None
    except ScheduleError as error:
        raise FrontendError(f"{label}: {error}{_where(location)}", str(error)) from None


def _where(location: SourceLocation | None) -> str:
    return "" if location is None else f" ({location})"


def _split(schedule: Schedule, loops: _Loops, one: asked.Split) -> list[Step]:
    (loop,) = loops.several("split", one.old)
    del loops.names[one.old]
    loops.names |= {one.outer: one.outer, one.inner: one.inner}
    return [Split(loop, one.factor, (one.outer, one.inner))]


def _reorder(schedule: Schedule, loops: _Loops, one: asked.Reorder) -> list[Step]:
    found = [loops.loop(variable) for variable in reversed(one.variables)]
    order = tuple(loop for loop in found if loop is not None)
    return [Reorder(order)] if len(order) > 1 else []


def _fuse(schedule: Schedule, loops: _Loops, one: asked.Fuse) -> list[Step]:
    outer, inner = loops.several("fuse", one.outer, one.inner)
    del loops.names[one.outer], loops.names[one.inner]
    loops.names[one.fused] = one.fused
    return [Collapse(outer, inner, one.fused)]


def _vectorize(schedule: Schedule, loops: _Loops, one: asked.Vectorize) -> list[Step]:
    (loop,) = loops.several("vectorize", one.variable)
    width = one.width
    if width is None:
        width = largest_extent(schedule.program, find_loop(schedule.program, loop))
        if width is None:
            raise FrontendError(
                f"{loops.label}.vectorize: the extent of '{one.variable}' is not known; expected a "
                "width"
            )
    return [Vectorize(loop, width)]


def _unroll(schedule: Schedule, loops: _Loops, one: asked.Unroll) -> list[Step]:
    loop = loops.loop(one.variable)
    return [] if loop is None else [Unroll(loop, one.factor)]


def _parallel(schedule: Schedule, loops: _Loops, one: asked.Parallel) -> list[Step]:
    (loop,) = loops.several("parallel", one.variable)
    return [Parallel(loop)]


_APPLY: Mapping[type[asked.Directive], Callable[[Schedule, _Loops, Any], list[Step]]]
_APPLY = MappingProxyType(
    {
        asked.Split: _split,
        asked.Reorder: _reorder,
        asked.Fuse: _fuse,
        asked.Vectorize: _vectorize,
        asked.Unroll: _unroll,
        asked.Parallel: _parallel,
    }
)
