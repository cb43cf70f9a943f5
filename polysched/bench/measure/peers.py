"""The kernels that a peer of a race computes with, and whether they are the best that it has."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.machine.detect import detect_host

_VECTOR_BITS = (
    (512, "avx512 avx-512 avx10 amx x86_v4 skylakex cooperlake sapphirerapids skx zen4 zen5"),
    (256, "avx x86_v3 haswell zen sandybridge bulldozer piledriver steamroller excavator"),
    (
        128,
        "sse x86_v2 nehalem core2 penryn dunnington prescott katmai coppermine northwood banias "
        "atom nano athlon opteron barcelona bobcat generic default",
    ),
)
"""Widths of vectors in bits, and the x86 instruction sets and core types with such vectors.

OpenBLAS, BLIS, oneDNN, MKL, ATen, numpy and Halide use these names, here in lower case. The widest
match counts.
"""


@dataclass(frozen=True)
class PeerKernels:
    """The library that a peer calls, and the kernels of it that run on this processor.

    Attributes:
        library: ``"OpenBLAS"``, ``"MKL"``, ``"gcc"``.
        architecture: the instruction set or processor that the kernels are compiled for, as the
            library prints it.
        held_back: why these kernels are not the best that this processor could run; None if that
            is not known. No ratio is formed with a peer that is held back.
    """

    name: str
    library: str
    version: str
    architecture: str
    held_back: str | None = None

    def __str__(self) -> str:
        text = f"{self.name}: {self.library} {self.version}, {self.architecture}"
        return text if self.held_back is None else f"{text}; held back: {self.held_back}"


def peer_kernels(
    name: str, library: str, version: str, architecture: str, bits: int | None = None
) -> PeerKernels:
    """The record of a peer, which is held back if its vectors are narrower than this processor's.

    Args:
        architecture: the instruction set or processor that the kernels are compiled for; of many
            the name gives the width of vectors.
        bits: the width of the kernels' vectors, if it is known otherwise.
    """
    bits = bits or vector_bits(architecture)
    widest = detect_host().vector_bits
    held_back = None
    if bits is not None and bits < widest:
        held_back = (
            f"{library}'s kernels have vectors of at most {bits} bits, this processor has vectors "
            f"of {widest} bits"
        )
    return PeerKernels(name, library, version, architecture, held_back)


def vector_bits(architecture: str) -> int | None:
    """The width of an architecture's vectors in bits, by its name; None if that is not known."""
    text = architecture.casefold()
    widths = (bits for bits, names in _VECTOR_BITS if any(name in text for name in names.split()))
    return next(widths, None)
