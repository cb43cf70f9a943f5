"""The methods of the schedule that users hold."""

from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from tests.support import kernels


def test_a_legal_schedule() -> None:
    schedule = ps.Schedule(kernels.grid(4, 8)).vectorize("j", 4)
    assert schedule.check().is_legal
    assert schedule.condition() is None
    assert schedule.repairs() == ()
    assert "vector jv in 0..4:" in schedule.show()
    assert "parallel: yes" in schedule.explain()
    assert schedule.show("schedule") == ps.show(schedule, "schedule")


def test_compile() -> None:
    x = np.arange(12, dtype=np.int32)
    run = ps.Schedule(kernels.scale()).vectorize("i", 8).compile()
    np.testing.assert_array_equal(run(x), 2 * x + 1)


def test_steps_keep_the_class() -> None:
    schedule = ps.Schedule(kernels.grid()).split("i", 4).reverse("j")
    assert type(schedule) is ps.Schedule
    assert type(schedule.first(1)) is ps.Schedule
    assert schedule.first(1).trace() == "split(loop='i', factor=4)"
    assert schedule.of(kernels.scale()).steps == ()


def test_repairs_can_be_applied() -> None:
    schedule = ps.Schedule(kernels.seidel()).tile(("s", "i"), (4, 8))
    assert not schedule.check().is_legal
    repair = schedule.repairs()[0]
    assert str(repair) == repair.description
    mended = schedule.repair(repair)
    assert type(mended) is ps.Schedule
    assert repr(mended).startswith("<Schedule of ")
    assert mended.check().is_legal


def test_the_condition() -> None:
    schedule = ps.Schedule(kernels.prefix()).vectorize("i", 8)
    assert str(schedule.condition()) == "n <= 2"


def test_a_refused_schedule_does_not_compile() -> None:
    with pytest.raises(ps.ScheduleError, match="illegal: vectorize"):
        ps.Schedule(kernels.prefix()).vectorize("i", 8).compile()


def test_the_picture() -> None:
    pytest.importorskip("matplotlib")
    schedule = ps.Schedule(kernels.scale()).split("i", 8)
    assert schedule.plot().axes
    assert "<svg" in schedule._repr_html_()


def test_names_that_are_loaded_later_are_listed() -> None:
    assert {"Schedule", "compile", "matmul"} <= set(dir(ps))
    assert [name for name in dir(ps) if not hasattr(ps, name)] == []


def test_a_function_that_numpy_has() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'tanh'; .*: np\.tanh\(x\[i\]\)$"):
        _ = ps.tanh  # type: ignore[attr-defined]
    assert not hasattr(ps, "tan_h")


def test_a_schedule_file_is_applied(tmp_path: Path) -> None:
    schedule = ps.Schedule(kernels.scale()).split("i", 4).unroll("ii")
    file = tmp_path / "scale.sched"
    file.write_text(schedule.trace())
    assert ps.Schedule(kernels.scale()).apply(file) == schedule
    file.write_text("split('q', 4)")
    with pytest.raises(ps.ScheduleError, match=r"scale.sched:1:\d+: no loop 'q'"):
        ps.Schedule(kernels.scale()).apply(file)
