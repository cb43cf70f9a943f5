"""The page of evidence: the outcomes of all benchmarks as one HTML file that stands alone."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version

from polysched.bench.measure.speedup import Speedup, geometric_means
from polysched.bench.report import Measured, Record
from polysched.machine.description import Machine

PACKAGES = ("polysched", "llvmlite", "islpy", "numpy", "numba", "torch", "halide")
"""Packages to list with their versions."""

_WIDEST = 16.0
"""The speedup at the right end of a plot; its inverse is at the left end."""

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 0.7em 0; }
td, th { padding: 0.12em 0.7em; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child { text-align: left; }
.slower { color: #b3261e; }
.plot { position: relative; width: 14em; height: 1em; background: #f4f4f4; }
.plot i { position: absolute; top: 0; width: 3px; height: 1em; background: #1f6fb2; }
.plot b { position: absolute; top: 0; left: 50%; width: 1px; height: 1em; background: #888; }
pre { background: #f4f4f4; padding: 0.5em; overflow-x: auto; }
"""


def report_page(outcomes: Sequence[Measured], machine: Machine) -> str:
    """Write the page.

    Returns:
        HTML without references to other files.
    """
    sections = "\n".join(map(_section, outcomes))
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>polysched: measurements</title><style>{_STYLE}</style></head>
<body>
<h1>polysched: measurements</h1>
<p>Each number is a speedup of polysched: the rate of polysched divided by the rate of the other
contestant, medians of one process in which all contestants run in turn. Numbers below 1 are red.
A number after &le; is an upper bound, because the other contestant's kernels are not the best that
this processor could run.
The plots have a logarithmic scale from 1/{_WIDEST:g} to {_WIDEST:g}, with a mark for each
contestant and a line at 1. The spread is the interquartile range of a contestant's rate, divided by
its median, of the contestant that varies most.</p>
{_table(("machine", ""), _about(machine))}
{sections}
</body></html>
"""


def _about(machine: Machine) -> list[tuple[str, str]]:
    caches = ", ".join(f"L{cache.level} {cache.bytes // 1024} KiB" for cache in machine.caches)
    rows = [
        ("processor", f"{machine.name}, vectors of {machine.vector_bits} bits"),
        ("cores", str(machine.cores_usable)),
        ("caches", caches),
        ("system", f"{platform.system()} {platform.release()}, Python {platform.python_version()}"),
    ]
    for package in PACKAGES:
        try:
            rows.append((package, version(package)))
        except PackageNotFoundError:
            rows.append((package, "not installed"))
    return [(escape(name), escape(value)) for name, value in rows]


def _section(outcome: Measured) -> str:
    parts = [f"<h2>{escape(outcome.section.title)}</h2>", f"<pre>{escape(outcome.command)}</pre>"]
    if outcome.error:
        parts.append(f"<p>The benchmark failed:</p><pre>{escape(outcome.error)}</pre>")
    if outcome.speedups:
        parts.append(_speedup_table(outcome.speedups, outcome.spreads))
    else:
        parts.append(_record_table(outcome.records))
    for peer in outcome.peers:
        fields = ("name", "library", "version", "architecture")
        parts.append(f"<p>Peer {escape(', '.join(str(peer[field]) for field in fields))}</p>")
    lines = "\n".join(json.dumps(record) for record in outcome.records)
    parts.append(f"<details><summary>Records</summary><pre>{escape(lines)}</pre></details>")
    return "\n".join(parts)


def _speedup_table(speedups: Sequence[Speedup], spreads: Mapping[str, float]) -> str:
    """A row for each work, a column for each contestant, the geometric means in the last row."""
    others = list(dict.fromkeys(speedup.over for speedup in speedups))
    by_work: dict[str, dict[str, Speedup]] = {}
    for speedup in speedups:
        by_work.setdefault(speedup.work, {})[speedup.over] = speedup
    rows = []
    for work, row in by_work.items():
        cells = [_ratio(row[over]) if over in row else "" for over in others]
        spread = f"{100 * spreads[work]:.0f} %" if work in spreads else ""
        rows.append((escape(work), *cells, spread, _plot(each.ratio for each in row.values())))
    means = geometric_means(speedups)
    bounds = {speedup.over for speedup in speedups if speedup.is_bound}
    cells = [f"{_bound(over in bounds)}{means[over]:.2f}" for over in others]
    rows.append(("<b>geometric mean</b>", *cells, "", _plot(means.values())))
    return _table(("work", *map(escape, others), "spread", ""), rows)


def _ratio(speedup: Speedup) -> str:
    text = f"{_bound(speedup.is_bound)}{speedup.ratio:.2f}"
    return text if speedup.ratio >= 1 else f'<span class="slower">{text}</span>'


def _bound(is_bound: bool) -> str:
    return "&le; " if is_bound else ""


def _plot(ratios: Iterable[float]) -> str:
    """A mark for each ratio on a logarithmic scale, with a line at 1."""
    limit = math.log(_WIDEST)
    marks = "".join(
        f'<i style="left: {50 + 50 * max(-1.0, min(1.0, math.log(ratio) / limit)):.1f}%"></i>'
        for ratio in ratios
    )
    return f'<div class="plot"><b></b>{marks}</div>'


def _record_table(records: Sequence[Record]) -> str:
    """The records with numbers as a table of their own fields; peers are printed apart."""
    rows = [
        record
        for record in records
        if "library" not in record and any(isinstance(value, float) for value in record.values())
    ]
    fields = list(dict.fromkeys(field for record in rows for field in record))
    cells = [tuple(_cell(record.get(field)) for field in fields) for record in rows]
    return _table(tuple(escape(field.replace("_", " ")) for field in fields), cells)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"
