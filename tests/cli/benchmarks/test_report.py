from pathlib import Path

import pytest

from polysched.bench.report import Section
from tests.cli.conftest import Polysched


def test_the_page_has_what_succeeds_and_what_fails(
    polysched: Polysched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = (
        Section("Bits", ("pack-bits", *"--type u1 --count 1024 --rounds 1".split())),
        Section("Broken", ("calls", "--bursts", "0"), is_race=False),
    )
    monkeypatch.setattr("polysched.cli.benchmarks.report.SECTIONS", sections)
    page = tmp_path / "report.html"
    result = polysched("bench", "report", "-o", str(page), "--seconds", "0.1")
    assert result.exit_code == 1
    assert f"wrote {page}" in result.stdout
    assert "'polysched bench calls --bursts 0 --json' failed:" in result.stderr
    text = page.read_text()
    command = "polysched bench pack-bits --type u1 --count 1024 --rounds 1 --seconds 0.1"
    assert f"{command} --json" in text
    assert "geometric mean" in text
    assert "The benchmark failed" in text


def test_an_unknown_benchmark(polysched: Polysched) -> None:
    result = polysched("bench", "report", "-o", "x.html", "--only", "speed")
    assert result.exit_code == 2
    assert "'speed' is not one of 'gallery'" in result.stderr
