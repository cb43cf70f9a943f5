"""Values of foreign types given to public functions: errors of polysched's own, which name them."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps

ARRAY = np.zeros(3, np.float32)


def schedule() -> ps.Schedule:
    build = ps.KernelBuilder("k")
    x = build.inout("x", ps.f32, (8,))
    with build.loops(i=8) as i, build.statement("S"):
        x[i] = x[i] + 1
    return ps.Schedule(build.kernel())


def test_element_types() -> None:
    for what in (("i", "j"), [1, 2], ARRAY, object()):
        with pytest.raises(ps.KernelError, match="unknown element type"):
            ps.KernelBuilder("k").input("x", what, (4,))  # type: ignore[arg-type]


def test_stages() -> None:
    for stage in (None, [], ARRAY, 3):
        with pytest.raises(ps.PolyschedError, match="unknown stage .*; known are"):
            schedule().show(stage)  # type: ignore[arg-type]


def test_schedules() -> None:
    for what in (None, ARRAY, schedule().kernel):
        with pytest.raises(ps.ScheduleError, match="expected a Schedule; got a "):
            ps.explain_loops(what)  # type: ignore[arg-type]


def test_machines() -> None:
    for what in (ARRAY, 3, []):
        with pytest.raises(ps.PolyschedError, match="is not a machine; expected a preset's name"):
            ps.compile(schedule(), what)  # type: ignore[arg-type]


def test_views() -> None:
    for what in (ARRAY, 3, {}, "i"):
        with pytest.raises(ps.PolyschedError, match="the view is of type .*; expected a View"):
            schedule().plot(what)  # type: ignore[arg-type]


def test_functions_of_computed_operands() -> None:
    with pytest.raises(ps.CallError, match="computed: the function is of type ndarray; expected a"):
        ps.computed(ARRAY, ARRAY)  # type: ignore[arg-type]
