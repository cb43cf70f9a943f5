import json
from dataclasses import replace

import pytest

from polysched.bench.measure.contestant import Contestant, Runner
from polysched.bench.pack_bits import PackingData
from polysched.cli.benchmarks import pack_bits as bench_pack_bits
from tests.cli.conftest import Polysched

QUICK = "bench pack-bits --type u4 --count 512 --rounds 1 --seconds 0.2".split()


def test_json_lines(polysched: Polysched) -> None:
    result = polysched(*QUICK, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    records = [json.loads(line) for line in result.stdout.splitlines()]
    moved = [record for record in records if record.get("unit") == "byte"]
    names = ["polysched", "polysched, code alone", "numpy", "LLVM"]
    assert [record["contestant"] for record in moved] == names * 2
    assert {record["kernel"] for record in moved} == {"pack u4 512", "unpack u4 512"}
    assert all(record["max_abs_err"] == 0 for record in moved)
    ratios = [record for record in records if "ratio" in record]
    assert [record["over"] for record in ratios] == ["numpy"] * 2 + ["LLVM"] * 2


def test_table_with_strategies(polysched: Polysched) -> None:
    result = polysched(*QUICK, "--strategies")
    assert result.exit_code == 0
    assert result.stdout.startswith("| kernel ")
    assert "strategy columns " in result.stdout
    assert "unpack u4 512: " in result.stdout


def test_a_wrong_result_of_our_own_fails(
    polysched: Polysched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(data: PackingData, **options: object) -> tuple[Contestant, ...]:
        assert options == {"strategies": False, "machine": None}
        output = replace(data, expected=data.expected + 1).expected
        return (Contestant("polysched", lambda: Runner(lambda: None, lambda: output)),)

    monkeypatch.setattr(bench_pack_bits, "contestants", wrong)
    result = polysched(*QUICK)
    assert result.exit_code == 1
    assert "not raced: polysched (pack u4 512): wrong output" in result.stderr
    assert "wrong output of polysched; this is a defect of polysched" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--type", "i33"), "element type 'i33' has 33 bits"),
        (("--type", "u12", "--count", "512"), "elements of u12; expected integers of 1 to 7 bits"),
        (("--count", "100"), "100 elements; expected a positive multiple of 256"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, polysched: Polysched) -> None:
    result = polysched("bench", "pack-bits", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_the_old_name_gives_the_new_one(polysched: Polysched) -> None:
    result = polysched("bench", "bitcast", "--type", "u4")
    assert result.exit_code == 2
    assert "'bench bitcast' is now 'bench pack-bits'." in result.stderr
