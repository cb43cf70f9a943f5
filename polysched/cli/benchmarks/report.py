"""``polysched bench report``: run all benchmarks and write one page of their results."""

from __future__ import annotations

from pathlib import Path

import click

from polysched.bench.report import SECTIONS, measured
from polysched.bench.report_page import report_page
from polysched.cli.options import output_option
from polysched.cli.terminal import print_error, progress
from polysched.machine.detect import detect_host


@click.command("report")
@output_option("The HTML file to write.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(list(dict.fromkeys(section.name for section in SECTIONS))),
    help="Run only this benchmark; may be repeated. By default all run.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Time limit of each race; by default the limit of each benchmark.",
)
@click.pass_context
def report(
    context: click.Context, file: Path, only: tuple[str, ...], seconds: float | None
) -> None:
    """Run all benchmarks and write one HTML page that stands alone.

    The page states the speedups with their spread, the machine, the versions of all packages, the
    kernels that the peers ran, the command of each table, and the records behind it. Peers that are
    not installed are left out: pip install '.[bench]' installs them. With the default time
    limits all benchmarks take less than an hour. Run it in polysched's repository, which has the
    programs of the gallery.

    \b
    polysched bench report -o report.html
    polysched bench report -o report.html --only matmul --only calls --seconds 1

    \b
    Exit codes: 0 success, 1 a benchmark failed, 2 bad input.
    """
    sections = [section for section in SECTIONS if not only or section.name in only]
    with progress() as tell:
        outcomes = measured(sections, seconds, progress=tell)
    file.write_text(report_page(outcomes, detect_host()), encoding="utf-8")
    click.echo(f"wrote {file}")
    for outcome in outcomes:
        if outcome.error:
            print_error(f"'{outcome.command}' failed: {outcome.error.strip().splitlines()[-1]}")
    if any(outcome.error for outcome in outcomes):
        context.exit(1)
