from types import SimpleNamespace

import pytest

from polysched.bench.measure import peers
from polysched.bench.measure.peers import PeerKernels, peer_kernels, vector_bits


@pytest.mark.parametrize(
    ("architecture", "bits"),
    [
        ("SkylakeX kernels", 512),
        ("Cooperlake kernels", 512),
        ("Haswell kernels", 256),
        ("Zen kernels", 256),
        ("zen4 kernels", 512),
        ("Nehalem kernels", 128),
        ("Intel AVX-512 with Intel DL Boost", 512),
        ("Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors", 256),
        ("own kernels for AVX512", 512),
        ("own kernels for DEFAULT", 128),
        ("loops for X86_V2, X86_V3, X86_V4", 512),
        ("loops for X86_V2", 128),
        ("target x86-64-linux-avx-avx2-f16c-fma-sse41", 256),
        ("target x86-64-linux-avx-avx2-avx512-avx512_skylake", 512),
        ("Intel(R) Architecture processors", None),
        ("neoversev1 kernels", None),
    ],
)
def test_vectors_are_known_by_the_architecture(architecture: str, bits: int | None) -> None:
    assert vector_bits(architecture) == bits


@pytest.fixture(params=[256, 512])
def host_bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    bits: int = request.param
    monkeypatch.setattr(peers, "detect_host", lambda: SimpleNamespace(vector_bits=bits))
    return bits


def test_kernels_with_narrow_vectors_are_held_back(host_bits: int) -> None:
    found = peer_kernels("numpy", "OpenBLAS", "0.3", "Haswell kernels")
    reason = (
        "OpenBLAS's kernels have vectors of at most 256 bits, this processor has vectors of 512 "
        "bits"
    )
    assert found.held_back == (reason if host_bits == 512 else None)
    text = "numpy: OpenBLAS 0.3, Haswell kernels"
    assert str(found) == (f"{text}; held back: {reason}" if host_bits == 512 else text)


@pytest.mark.usefixtures("host_bits")
def test_kernels_of_unknown_or_full_width_are_not() -> None:
    for architecture in ("SkylakeX kernels", "unknown kernels"):
        found = peer_kernels("numpy", "OpenBLAS", "0.3", architecture)
        assert found == PeerKernels("numpy", "OpenBLAS", "0.3", architecture, None)


def test_a_width_that_is_known_otherwise_counts(host_bits: int) -> None:
    found = peer_kernels("torch", "MKL", "2024.0", "default kernels for AVX512", 256)
    assert (found.held_back is not None) == (host_bits == 512)
