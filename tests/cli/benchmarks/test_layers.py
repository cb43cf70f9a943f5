"""``polysched bench layers``."""

import json

from tests.cli.conftest import Polysched

QUICK = ("bench", "layers", "--rounds", "1", "--seconds", "0.1")


def test_json_lines(polysched: Polysched) -> None:
    result = polysched(*QUICK, "--layer", "MobileNet 1x1 512", "--json")
    assert result.exit_code == 0
    first = json.loads(result.stdout.splitlines()[0])
    assert first["kernel"] == "MobileNet 1x1 512->512 14"
    assert (first["contestant"], first["max_abs_err"] < 1e-3) == ("polysched", True)


def test_an_unknown_layer_gets_the_names(polysched: Polysched) -> None:
    result = polysched(*QUICK, "--layer", "VGG")
    assert result.exit_code == 2
    assert (
        "no layer's name contains VGG; they are ResNet-50 7x7 3->64 224 stride 2" in result.stderr
    )
