"""Every example runs, on sizes that a test can afford."""

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL_SIZES: dict[str, dict[str, Any]] = {
    "conv2d_halide.py": {"N": 1, "H": 3, "W": 13, "CI": 5, "CO": 70},
    "conv2d_relu.py": {"N": 1, "H": 3, "W": 13, "CI": 5, "CO": 70},
    "dequantized_matmul.py": {"m": 70, "n": 40, "k": 33},
    "int4_gemv.py": {"m": 3, "k": 300},
    "int4_matmul.py": {"n": 33, "k": 300, "counts": (1, 128)},
    "one_product.py": {"m": 7, "n": 70, "k": 5},
    "seidel.py": {"n": 12, "T": 5},
    "wavefront.py": {"n": 90, "T": 5},
}
EXPECTED = {
    "conv2d_halide.py": "legal; proved: 3 statements",
    "conv2d_relu.py": "best",
    "dequantized_matmul.py": "a product of numbers that are there already",
    "int4_gemv.py": "weights of 4 bits",
    "int4_matmul.py": " 128 rows by weights of 4 bits",
    "one_product.py": "three notations, one result",
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
