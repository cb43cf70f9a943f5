"""Judging seeds in child processes: a crash, a hang or a raw exception is a finding too."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SILENT = 60.0
"""Wall-clock seconds of one stage after which a child is taken for hung, on a machine that others
use."""
_SLOW = 12.0
"""Processor seconds of one stage that are a finding: every question has a budget of 10."""


@dataclass
class Total:
    """What a campaign has found so far."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    done: int = 0


def work(
    judge: Callable[[int, Callable[[str], None]], Any], first: int, count: int, by: int
) -> None:
    """The child's part: judge seeds, telling on the standard output what is done."""
    out = os.fdopen(os.dup(1), "w")
    started = [time.process_time(), ""]

    def tell(**what: Any) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    def at(stage: str) -> None:
        now = time.process_time()
        if now - started[0] > _SLOW:
            tell(slow=f"{now - started[0]:.1f} s: {started[1]}")
        started[:] = [now, stage]
        tell(at=stage)

    for seed in range(first, first + count * by, by):
        tell(seed=seed)
        at("begin")
        try:
            outcome = judge(seed, at)
            at("end")
            tell(done=seed, counts=dict(outcome.counts), findings=outcome.findings)
        except Exception:  # noqa: BLE001 - the campaign's own mistake, or polysched's
            tell(done=seed, counts={}, findings=[["raw exception", traceback.format_exc()]])


class _Child:
    """A process that works on the seeds from ``first`` on, every ``by``-th of them."""

    def __init__(self, part: str, first: int, count: int, by: int) -> None:
        self.first, self.count, self.by = first, count, by
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.campaign", "work", part]
        command += [f"--seed={first}", f"--count={count}", f"--by={by}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.seed, self.stage, self.heard = first, "start", time.monotonic()
        self.buffer = b""

    def rest(self) -> tuple[int, int]:
        """The seed after the one at work, and how many are left."""
        done = (self.seed - self.first) // self.by + 1
        return self.seed + self.by, self.count - done


def campaign(part: str, seed: int, count: int, jobs: int, report: Path | None) -> Total:
    """Judge ``count`` seeds in ``jobs`` processes and print what is found."""
    total = Total()
    shares = [count // jobs + (job < count % jobs) for job in range(jobs)]
    children = [_Child(part, seed + job, share, jobs) for job, share in enumerate(shares) if share]
    selector = selectors.DefaultSelector()
    for child in children:
        _watch(selector, child)
    began = time.monotonic()
    while selector.get_map():
        for key, _ in selector.select(timeout=5):
            child = key.data
            chunk = os.read(key.fd, 1 << 16)
            if chunk:
                for line in _lines(child, chunk):
                    _heard(child, line, total, report)
                continue
            selector.unregister(key.fileobj)
            _ended(selector, part, child, total, report)
        for key in list(selector.get_map().values()):
            child = key.data
            if time.monotonic() - child.heard > _SILENT:
                child.process.send_signal(signal.SIGABRT)
                child.heard = time.monotonic() + 1e9
        if report is not None:
            _write_counts(total, report, time.monotonic() - began)
    return total


def _watch(selector: selectors.BaseSelector, child: _Child) -> None:
    assert child.process.stdout is not None
    selector.register(child.process.stdout, selectors.EVENT_READ, child)


def _lines(child: _Child, chunk: bytes) -> Iterator[dict[str, Any]]:
    *lines, child.buffer = (child.buffer + chunk).split(b"\n")
    for line in lines:
        yield json.loads(line)


def _heard(child: _Child, line: dict[str, Any], total: Total, report: Path | None) -> None:
    child.heard = time.monotonic()
    child.seed = line.get("seed", child.seed)
    child.stage = line.get("at", child.stage)
    if "slow" in line:
        _found(total, report, child.seed, "slow", line["slow"])
    if "done" in line:
        total.done += 1
        total.counts.update(line["counts"])
        for title, text in line["findings"]:
            _found(total, report, child.seed, title, text)


def _ended(
    selector: selectors.BaseSelector, part: str, child: _Child, total: Total, report: Path | None
) -> None:
    assert child.process.stderr is not None
    errors = child.process.stderr.read().decode(errors="replace")
    code = child.process.wait()
    if code == 0:
        return
    what = "hang" if child.heard > time.monotonic() + 1e8 else f"crash ({code})"
    _found(total, report, child.seed, what, f"in: {child.stage}\n{errors[-3000:]}")
    first, left = child.rest()
    if left > 0:
        _watch(selector, _Child(part, first, left, child.by))


def _found(total: Total, report: Path | None, seed: int, title: str, text: str) -> None:
    total.findings += 1
    total.counts[f"finding: {title}"] += 1
    shown = f"== seed {seed}: {title}\n{text}\n"
    print(shown, flush=True)
    if report is not None:
        with report.open("a") as file:
            file.write(shown)


def _write_counts(total: Total, report: Path, seconds: float) -> None:
    lines = [f"{name}: {count}" for name, count in sorted(total.counts.items())]
    lines.append(f"seeds: {total.done} in {seconds:.0f} s")
    written = report.with_suffix(".writing")
    written.write_text("\n".join(lines) + "\n")
    written.replace(report.with_suffix(".counts"))  # at once, for whoever reads meanwhile
