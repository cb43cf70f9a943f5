"""HTML of schedules for notebooks (``_repr_html_``)."""

from __future__ import annotations

from html import escape

from polysched.errors import LoweringError, PolyschedError
from polysched.html import preformatted
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict
from polysched.loops.generate import generate_loops
from polysched.loops.printers.pseudo import print_loops
from polysched.plot.figure import plot, svg_text
from polysched.plot.view import View
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import format_step


def schedule_html(schedule: Schedule, view: View | None = None) -> str:
    """A schedule as HTML: the verdict, the steps, a picture, the loops.

    A part that cannot be shown is replaced by the reason: matplotlib is missing, the
    picture takes too long, or the loops cannot be generated.

    Args:
        view: options of the picture.
    """
    verdict = check(schedule)
    return "\n".join(
        (
            "<div>",
            f"<b>{escape(schedule.kernel.name)}</b>",
            _steps_html(schedule),
            verdict._repr_html_(),
            _details("picture", _picture_html(schedule, view, verdict), is_open=True),
            _details("loops", _loops_html(schedule), is_open=False),
            "</div>",
        )
    )


def svg_of(schedule: Schedule, view: View | None = None, *, verdict: Verdict | None = None) -> str:
    """The picture of a schedule as an SVG element."""
    return svg_text(plot(schedule, view, verdict=verdict))


def _steps_html(schedule: Schedule) -> str:
    if not schedule.steps:
        return "<div>as written</div>"
    items = "".join(f"<li><code>{escape(format_step(step))}</code></li>" for step in schedule.steps)
    return f"<ol>{items}</ol>"


def _picture_html(schedule: Schedule, view: View | None, verdict: Verdict) -> str:
    try:
        return svg_of(schedule, view, verdict=verdict)
    except PolyschedError as error:
        return f"<i>{escape(str(error))}</i>"


def _loops_html(schedule: Schedule) -> str:
    try:
        return preformatted(print_loops(generate_loops(schedule.program)))
    except LoweringError as error:
        return f"<i>{escape(str(error))}</i>"


def _details(summary: str, content: str, *, is_open: bool) -> str:
    opened = ' open=""' if is_open else ""
    return f"<details{opened}><summary>{summary}</summary>{content}</details>"
