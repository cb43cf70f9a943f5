"""``polysched bench quantized``."""

import json

from tests.cli.conftest import Polysched

QUICK = ("bench", "quantized", "--rounds", "1", "--seconds", "0.1")


def test_json_lines(polysched: Polysched) -> None:
    result = polysched(*QUICK, "--size", "2x64x70", "--bits", "4", "--json")
    assert result.exit_code == 0
    records = [json.loads(line) for line in result.stdout.splitlines()]
    kernels = {record["kernel"] for record in records if "kernel" in record}
    assert kernels == {"layer 2x64x70 i4"}
    assert "polysched f32 rows" in {record.get("contestant") for record in records}


def test_bad_sizes_are_named(polysched: Polysched) -> None:
    assert "is not three numbers ROWSxTERMSxCOLUMNS" in polysched(*QUICK, "--size", "8x9").stderr
    assert "expected positive sizes" in polysched(*QUICK, "--size", "0x9x8").stderr
