from polysched.schedule.notation.printing import format_schedule
from polysched.schedule.notation.text import apply_text
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def test_a_shown_schedule_is_a_schedule_file() -> None:
    schedule = Schedule(kernels.grid()).split("i", 4).vectorize("j", 8)
    shown = format_schedule(schedule)
    assert shown.startswith(
        "split(loop='i', factor=4)\nvectorize(loop='j', lanes=8)\n\n# for io = i//4:\n"
    )
    assert apply_text(schedule.first(0), shown, "shown").steps == schedule.steps


def test_a_schedule_without_steps() -> None:
    shown = format_schedule(Schedule(kernels.scale()))
    assert shown.splitlines()[0] == "# for i = i:"
    assert apply_text(Schedule(kernels.scale()), shown, "shown").steps == ()
