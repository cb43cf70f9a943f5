"""Applies mutants one at a time to a copy of the tree, and tells what notices each of them.

::

    python -m tests.mutants.run                    all mutants; the outcome as text
    python -m tests.mutants.run NAME... --json     some of them; the outcome as JSON

For each mutant first the tests run that are likely to notice, then all of them, then the fuzzer. A
run is ended by the first that notices. The exit status is 1 if a mutant survives.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import click

from tests.mutants.anchor import AnchorError, mutated
from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parents[2]
LEFT_OUT = (".*", "build", "dist", "*.egg-info", "__pycache__", "node_modules")
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
FUZZER = ("-m", "polysched.fuzz")
TESTS_FAILED = 1
"""pytest's exit status when tests ran and some failed."""


class BrokenRunError(click.ClickException):
    """The tests do not run, or fail without any mutant."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Attributes:
        killed_by: the test that failed, "fuzzer", or "time": it did not end; None if it survived.
        stage: what was running: "hinted tests", "all tests", "fuzzer".
        seconds: from the start of the first test to the end.
    """

    name: str
    module: str
    what: str
    killed_by: str | None
    stage: str
    seconds: float


@dataclass(frozen=True)
class Workshop:
    """A copy of the tree in which mutants are tried.

    Attributes:
        jobs: processes for the whole suite; the hinted tests take one.
        limit: seconds after which a run that has not ended counts as noticed.
    """

    tree: Path
    jobs: int
    limit: float
    fuzz_seconds: float

    def outcome(self, mutant: Mutant) -> Outcome:
        """Apply a mutant, see what notices it, and take it back."""
        start = time.monotonic()
        with self._applied(mutant):
            stage = "hinted tests"
            killed_by = self.tests(mutant.hints, 0)
            if killed_by is None:
                stage = "all tests"
                killed_by = self.all_tests()
            if killed_by is None:
                stage = "fuzzer"
                killed_by = self.fuzzer()
        seconds = round(time.monotonic() - start, 1)
        if killed_by is not None and stage != "hinted tests":
            self._require_pristine(stage)
        return Outcome(mutant.name, mutant.module, mutant.what, killed_by, stage, seconds)

    @contextmanager
    def _applied(self, mutant: Mutant) -> Iterator[None]:
        file = self.tree / mutant.file
        text = file.read_text()
        try:
            file.write_text(mutated(text, mutant))
        except AnchorError as error:
            raise BrokenRunError(str(error)) from error
        try:
            yield
        finally:
            file.write_text(text)

    def tests(self, chosen: Sequence[str], jobs: int) -> str | None:
        """The first test that fails; None if all pass.

        Raises:
            BrokenRunError: pytest could not run the tests.
        """
        ended = self._run(
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "--tb=no",
            f"-n{jobs}",
            "--ignore=tests/mutants",
            *("-p", "no:cacheprovider"),
            # Alone of the plugins: importing the others takes longer than many of the hinted tests.
            *("-p", "xdist.plugin"),
            *chosen,
        )
        if ended is None:
            return "time"
        status, printed = ended
        if status == 0:
            return None
        found = FAILED.search(printed)
        if found is not None and status in (TESTS_FAILED, 2):
            return found[1]
        if status < 0:
            return f"signal {signal.Signals(-status).name}"
        raise BrokenRunError(f"pytest ended with status {status}:\n{printed[-2000:]}")

    def _require_pristine(self, stage: str) -> None:
        """Check that it is the mutant that has been noticed.

        Raises:
            BrokenRunError: the tree without any mutant fails too.
        """
        wrong = self.pristine_tests if stage == "all tests" else self.pristine_fuzzer
        if wrong is not None:
            raise BrokenRunError(f"without any mutant, {wrong} fails already")

    @cached_property
    def pristine_tests(self) -> str | None:
        """What fails of all tests without any mutant."""
        return self.all_tests()

    @cached_property
    def pristine_fuzzer(self) -> str | None:
        """What the fuzzer says without any mutant."""
        return self.fuzzer()

    def all_tests(self) -> str | None:
        """The first test of the whole suite that fails; None if all pass."""
        return self.tests(("tests",), self.jobs)

    def fuzzer(self) -> str | None:
        """What noticed, if random schedules show the mistake."""
        ended = self._run(*FUZZER, f"--seconds={self.fuzz_seconds}", f"--jobs={self.jobs}")
        if ended is None:
            return "time"
        return None if ended[0] == 0 else "fuzzer"

    def _run(self, *arguments: str) -> tuple[int, str] | None:
        """Python's exit status and what it printed; None if it did not end in time."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.tree,
            env={
                **os.environ,
                "PYTHONPATH": str(self.tree),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None
        return process.returncode, printed


def copy_tree(target: Path) -> None:
    """Copy what the tests need of this tree, and put the frontends where their package is."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    (target / "polysched" / "frontends").symlink_to(target / "frontends")


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a table."""
    rows = [
        f"| {one.name} | {one.what} | {one.killed_by or '**survived**'} | {one.seconds:.0f} |"
        for one in outcomes
    ]
    return "\n".join(["| mutant | mistake | noticed by | s |", "| --- | --- | --- | --- |", *rows])


def _line(one: Outcome) -> str:
    fate = "SURVIVED" if one.killed_by is None else f"{one.stage}: {one.killed_by}"
    return f"{one.name:32} {one.seconds:7.1f} s  {fate}"


@click.command(help=__doc__.split("\n\n", 1)[0] if __doc__ else None)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes as JSON.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the outcomes as a table.")
@click.option("--jobs", default=1, show_default=True, help="Processes for the whole suite.")
@click.option("--fuzz-seconds", default=60.0, show_default=True, help="How long the fuzzer runs.")
@click.option("--limit", default=900.0, show_default=True, help="Seconds for one run at most.")
def main(
    names: tuple[str, ...],
    as_json: bool,
    as_markdown: bool,
    jobs: int,
    fuzz_seconds: float,
    limit: float,
) -> None:
    known = {mutant.name: mutant for mutant in MUTANTS}
    for name in names:
        if name not in known:
            raise click.UsageError(f"no mutant '{name}'; the names are {', '.join(known)}")
    chosen = [known[name] for name in names] or list(MUTANTS)
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        workshop = Workshop(Path(directory, "tree"), jobs, limit, fuzz_seconds)
        copy_tree(workshop.tree)
        wrong = workshop.tests(sorted({hint for one in chosen for hint in one.hints}), jobs)
        if wrong is not None:
            raise BrokenRunError(f"without any mutant, {wrong} fails already")
        outcomes = []
        for mutant in chosen:
            outcomes.append(workshop.outcome(mutant))
            click.echo(_line(outcomes[-1]), err=as_json or as_markdown)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in outcomes], indent=2))
    if as_markdown:
        click.echo(markdown(outcomes))
    survivors = [one.name for one in outcomes if one.killed_by is None]
    click.echo(
        f"{len(outcomes)} mutants, {len(survivors)} survived{': ' * bool(survivors)}"
        f"{', '.join(survivors)}",
        err=as_json or as_markdown,
    )
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
