"""Report the outcome of a campaign as text, as JSON data, and as reproducer scripts."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from polysched.fuzz.campaign import Outcome
from polysched.fuzz.exploring import Case, Found, Judges, judge_again
from polysched.fuzz.generate.python_text import script
from polysched.fuzz.judge.judgment import Finding, Mode
from polysched.fuzz.shrink import shrink
from polysched.legality.verdicts.verdict import VerdictKind
from polysched.machine.load import load_machine


def by_verdict(counts: Mapping[str, int]) -> dict[str, int]:
    """Count the schedules by verdict."""
    return {
        kind.value: sum(counts.get(f"{mode.value}: {kind.value}", 0) for mode in Mode)
        for kind in VerdictKind
    }


def findings(counts: Mapping[str, int]) -> dict[str, int]:
    """Count the failures by finding."""
    return {finding.value: counts.get(finding.value, 0) for finding in Finding}


def record(outcome: Outcome) -> dict[str, Any]:
    """Convert an outcome to plain data for JSON."""
    counts = outcome.explored.counts
    return {
        "pairs": outcome.pairs,
        "kernels": outcome.seeds,
        "seconds": round(outcome.seconds, 1),
        "pairs_per_second": round(outcome.pairs / outcome.seconds, 1),
        "verdicts": by_verdict(counts),
        "judged": _chosen(counts, tuple(f"{mode.value}: " for mode in Mode)),
        "findings": findings(counts),
        "steps_that_fit": _chosen(counts, ("fits: ",)),
        "steps_that_do_not_fit": _chosen(counts, ("does not fit: ",)),
    }


def _chosen(counts: Counter[str], prefixes: tuple[str, ...]) -> dict[str, int]:
    single = prefixes[0] if len(prefixes) == 1 else ""
    return {
        name.removeprefix(single): count
        for name, count in sorted(counts.items())
        if name.startswith(prefixes)
    }


def lines(outcome: Outcome) -> Iterator[str]:
    """Format an outcome as lines of text."""
    pairs, seconds = outcome.pairs, outcome.seconds
    yield f"{outcome.seeds:,} kernels, {outcome.seeds / seconds:.1f} a second"
    yield f"{pairs:,} pairs of a kernel and a schedule, {pairs / seconds:.1f} a second"
    for name, count in record(outcome)["judged"].items():
        yield f"  {name}: {count:,}"
    wrong = {name: count for name, count in findings(outcome.explored.counts).items() if count}
    for name, count in wrong.items():
        yield f"WRONG: {name}: {count:,}"
    if not wrong:
        yield "nothing wrong"


def reproducer(failure: Found, judges: Judges) -> str:
    """Shrink a failure and print it as a script; if only the seed is known, print a command."""
    comment = f"seed {failure.seed}: {failure.finding.value}\n{failure.detail}"
    if failure.case is None:
        command = f"python -m polysched.fuzz --only --seed {failure.seed}"
        return "".join(f"# {line}\n" for line in (*comment.splitlines(), command))

    def finding(case: Case) -> Finding | None:
        judgment = judge_again(case, judges)
        return None if judgment is None else judgment.finding

    smaller = shrink(failure.case, failure.finding, finding)
    again = judge_again(smaller, judges)
    if again is not None and again.detail:
        comment = f"seed {failure.seed}, shrunk: {failure.finding.value}\n{again.detail}"
    return script(smaller.sketch, smaller.steps, comment=comment)


def safe_reproducer(failure: Found) -> str:
    """Run :func:`reproducer` in a separate process, which the failure may crash."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(_reproducer, failure).result()
        except BrokenProcessPool:
            assert failure.case is not None, "without a case nothing runs"
            comment = f"seed {failure.seed}: {failure.finding.value}\n{failure.detail}"
            return script(failure.case.sketch, failure.case.steps, comment=comment)


def _reproducer(failure: Found) -> str:
    return reproducer(failure, Judges(load_machine()))
