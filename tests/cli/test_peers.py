import json

import click
import pytest

from polysched.bench.peers import PeerKernels
from polysched.cli.peers import print_peers

NUMPY = PeerKernels("numpy", "OpenBLAS", "0.3", "SkylakeX kernels")
TORCH = PeerKernels("torch", "MKL", "2024.0", "default kernels", "they are narrow")
CONTEXT = click.Context(click.Command("matmul"), obj=("OPENBLAS_CORETYPE=Haswell",))


def test_each_peer_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    print_peers(CONTEXT, [NUMPY, TORCH, NUMPY], as_records=False)
    processor, *lines = capsys.readouterr().out.splitlines()
    assert processor.startswith("processor: ")
    assert lines == [
        "peer numpy: OpenBLAS 0.3, SkylakeX kernels",
        "peer torch: MKL 2024.0, default kernels; held back: they are narrow",
        "cleared from the environment: OPENBLAS_CORETYPE=Haswell",
    ]


def test_records(capsys: pytest.CaptureFixture[str]) -> None:
    print_peers(CONTEXT, [TORCH], as_records=True)
    about, peer = map(json.loads, capsys.readouterr().out.splitlines())
    assert about["cleared"] == ["OPENBLAS_CORETYPE=Haswell"]
    assert peer == {
        "name": "torch",
        "library": "MKL",
        "version": "2024.0",
        "architecture": "default kernels",
        "held_back": "they are narrow",
    }


def test_without_peers_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_peers(CONTEXT, [], as_records=False)
    assert capsys.readouterr().out == ""
