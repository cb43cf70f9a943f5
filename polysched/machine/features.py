"""Vector width, register count and matrix unit that a set of LLVM features implies."""

from collections.abc import Mapping, Set

# With these four features, every 512-bit operation that the emitter uses is one instruction. The
# 256-bit and 128-bit forms have masks and 32 registers too. Knights Landing lacks three of them.
AVX512_BASE = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})


def feature_string(features: Mapping[str, bool]) -> str:
    """Return LLVM's feature text, sorted by name: ``{"fma": True}`` gives ``"+fma"``."""
    return ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))


def widest_vector_bits(enabled: Set[str]) -> int:
    """Return 512 with AVX-512 (F, BW, DQ, VL), 256 with AVX2 and FMA, else 128 (SSE, NEON)."""
    if enabled >= AVX512_BASE:
        return 512
    return 256 if enabled >= {"avx2", "fma"} else 128


def vector_registers(enabled: Set[str]) -> int:
    """Return 32 with AVX-512VL or NEON, else 16."""
    return 32 if "avx512vl" in enabled or "neon" in enabled else 16


def matrix_unit(enabled: Set[str]) -> str | None:
    """Return ``"amx"`` if the processor has AMX tiles, else None.

    The features of the host name AMX only if the kernel permits its use
    (:mod:`polysched.machine.detect`).
    """
    return "amx" if "amx-tile" in enabled else None
