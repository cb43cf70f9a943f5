"""Every example runs, on sizes that a test can afford."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL_SIZES = {
    "conv2d_relu.py": {"N": 1, "H": 3, "W": 13, "CI": 5, "CO": 70},
    "seidel.py": {"n": 12, "T": 5},
    "wavefront.py": {"n": 90, "T": 5},
}
EXPECTED = {
    "conv2d_relu.py": "best",
    "seidel.py": "loop jo runs 0 before 1",
    "wavefront.py": "gives the same result, bit for bit",
}


def test_every_example_is_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SMALL_SIZES)


@pytest.mark.parametrize("name", SMALL_SIZES)
def test_example_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / name))["main"](**SMALL_SIZES[name])
    printed = capsys.readouterr().out
    assert EXPECTED[name] in printed
