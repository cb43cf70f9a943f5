import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict, VerdictKind
from polysched.plot.notebook import schedule_html, svg_of
from polysched.plot.view import View
from polysched.schedule.schedule import Schedule
from tests.support.kernels import grid, seidel


def text_of(html: str) -> str:
    """The text of well-formed HTML, entities resolved."""
    return "\n".join(ElementTree.fromstring(html).itertext())


def test_steps_verdict_picture_and_loops() -> None:
    html = schedule_html(Schedule(seidel(3, 5)).skew("i", by="s").reorder("i", "s"))
    text = text_of(html)
    assert "skew(loop='i', by='s')" in text
    assert "legal" in text
    assert "program seidel" in text
    assert "a[" in text
    assert "<svg" in html
    assert "<li><code>reorder(order=(&#x27;i&#x27;, &#x27;s&#x27;))</code></li>" in html


def test_an_illegal_schedule_says_why() -> None:
    text = text_of(schedule_html(Schedule(seidel(3, 5)).reorder("i", "s")))
    assert "illegal" in text
    assert "S[0,2] writes a[2]" in text


def test_no_steps() -> None:
    assert "<div>as written</div>" in schedule_html(Schedule(seidel(3, 5)))


def test_everything_is_escaped() -> None:
    schedule = Schedule(seidel(3, 5))
    named = replace(schedule.kernel, name="<b>&")
    html = schedule_html(Schedule(named))
    assert "<b>&lt;b&gt;&amp;</b>" in html
    assert "program &lt;b&gt;&amp;" in html
    text_of(html)  # well-formed
    refused = Verdict(VerdictKind.UNKNOWN, reason="<i>&")
    assert text_of(refused._repr_html_()) == "unknown\n<i>&"


def test_verdict() -> None:
    assert check(Schedule(grid()))._repr_html_() == (
        '<div><b style="color: #1a7f37">legal</b></div>'
    )
    html = check(Schedule(seidel(3, 5)).reorder("i", "s"))._repr_html_()
    assert html.startswith('<div><b style="color: #d1001f">illegal</b><pre')
    assert len(re.findall("illegal", html)) == 1


def test_what_cannot_be_drawn_is_said() -> None:
    text = text_of(schedule_html(Schedule(grid(4, 4)), View(dimensions=("k",))))
    assert "no dimension 'k' of statement 'S'" in text
    assert "program grid" in text


def test_a_part_of_a_large_domain() -> None:
    text = text_of(schedule_html(Schedule(grid(3000, 3000))))
    assert "the domain of statement 'S' is too large to plot as a whole" in text


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = schedule_html(Schedule(grid(4, 4)))
    assert "plotting needs matplotlib: pip install matplotlib" in text_of(html)
    assert "<svg" not in html


def test_svg() -> None:
    text = svg_of(Schedule(grid(4, 6)), View(dimensions=("j", "i")))
    assert text.startswith("<svg")
    assert text.rstrip().endswith("</svg>")
