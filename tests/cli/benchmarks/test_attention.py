"""``polysched bench attention``."""

import json

from tests.cli.conftest import Polysched

QUICK = ("bench", "attention", "--rounds", "1", "--seconds", "0.1")


def test_json_lines(polysched: Polysched) -> None:
    result = polysched(*QUICK, "--size", "2x20x8", "--full", "--json")
    assert result.exit_code == 0
    first = json.loads(result.stdout.splitlines()[0])
    assert (first["kernel"], first["contestant"]) == ("attention 2x20x8", "polysched")
    assert first["max_abs_err"] < 1e-5


def test_bad_sizes_are_named(polysched: Polysched) -> None:
    assert "is not three numbers HEADSxLENGTHxWIDTH" in polysched(*QUICK, "--size", "8x9").stderr
    assert "expected positive sizes" in polysched(*QUICK, "--size", "0x9x8").stderr
