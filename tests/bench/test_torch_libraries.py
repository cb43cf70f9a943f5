import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from polysched.bench.measure import peer_libraries
from polysched.bench.measure.peer_libraries import torch_kernels

MKL = "MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture "
MKL_DEFAULT = f"{MKL}Intel(R) Architecture processors, Lnx 2.60GHz lp64 gnu_thread\n"
MKL_AVX512 = (
    f"{MKL}Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) enabled processors, "
    "Lnx 2.60GHz lp64 gnu_thread\n"
)
ONEDNN = (
    "onednn_verbose,v1,info,oneDNN v3.12.0 (commit 80afa71)\n"
    "onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with Intel DL Boost\n"
)
SGEMM = "MKL_VERBOSE SGEMM(N,N,64,64,64,0x7ffd) 20.04ms CNR:OFF\n"
CONVOLUTION = "onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,...,391\n"


def says(text: str) -> None:
    """Print as a C library does."""
    os.write(1, text.encode())


class FakeTorch:
    """A torch whose libraries print when they are told to."""

    __version__ = "9.9"

    def __init__(self, mkl_header: str) -> None:
        self.is_verbose = False
        self.mkl_header = mkl_header
        library = SimpleNamespace(
            is_available=lambda: True, verbose=self.verbose, VERBOSE_ON=1, VERBOSE_OFF=0
        )
        capability = SimpleNamespace(get_cpu_capability=lambda: "AVX512")
        self.backends = SimpleNamespace(mkl=library, mkldnn=library, cpu=capability)
        self.int8 = None

    @contextmanager
    def verbose(self, level: int) -> Iterator[None]:
        assert level == 1
        self.is_verbose = True
        yield
        self.is_verbose = False

    def ones(self, *shape: int, dtype: object = None) -> None:
        assert len(shape) == 2

    def mm(self, *_: object) -> None:
        says(self.mkl_header + SGEMM)

    def _int_mm(self, *_: object) -> None:
        says(ONEDNN)

    def calls(self, text: str) -> Callable[[], None]:
        def call() -> None:
            assert self.is_verbose
            says(text)

        return call


@pytest.fixture
def fake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTorch]:
    torch = FakeTorch(request.param)
    monkeypatch.setattr(peer_libraries, "optional_module", lambda name: torch)
    peer_libraries._headers.cache_clear()
    yield torch
    peer_libraries._headers.cache_clear()


@pytest.mark.parametrize("fake", [MKL_AVX512], indirect=True)
def test_the_library_that_works_is_found(
    fake: FakeTorch, capfd: pytest.CaptureFixture[str]
) -> None:
    product = torch_kernels("torch", fake.calls(SGEMM))
    assert (product.library, product.version) == ("MKL", "2024.0 Update 2 (torch 9.9)")
    assert "AVX-512" in product.architecture
    assert product.held_back is None
    convolution = torch_kernels("torch", fake.calls(CONVOLUTION))
    assert (convolution.library, convolution.version) == ("oneDNN", "3.12.0 (torch 9.9)")
    assert convolution.architecture == "Intel AVX-512 with Intel DL Boost"
    copy = torch_kernels("torch", fake.calls(""))
    assert str(copy) == "torch: torch 9.9, own kernels for AVX512"
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("fake", [MKL_DEFAULT], indirect=True)
def test_mkl_on_a_processor_of_another_maker(
    fake: FakeTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = SimpleNamespace(vector_bits=512)
    monkeypatch.setattr("polysched.bench.measure.peers.detect_host", lambda: host)
    found = torch_kernels("torch", fake.calls(SGEMM))
    assert found.architecture == "default kernels for 'Intel(R) Architecture processors'"
    assert found.held_back is not None
    assert "MKL's kernels have vectors of at most 256 bits" in found.held_back
    assert torch_kernels("torch", fake.calls(CONVOLUTION)).held_back is None


@pytest.mark.parametrize("fake", [""], indirect=True)
def test_an_mkl_that_does_not_tell(fake: FakeTorch) -> None:
    found = torch_kernels("torch", fake.calls(SGEMM))
    assert (found.version, found.architecture) == (
        "of an unknown version (torch 9.9)",
        "unknown kernels",
    )
    assert found.held_back is None


@pytest.mark.parametrize("fake", [MKL_AVX512], indirect=True)
def test_the_output_is_given_back_after_an_error(
    fake: FakeTorch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        torch_kernels("torch", fail)
    says("back")
    assert capfd.readouterr().out == "back"
