"""Machine presets by name, for code for another processor and for tests."""

from types import MappingProxyType

from polysched.machine.description import Cache, Machine
from polysched.machine.features import (
    feature_string,
    matrix_unit,
    vector_registers,
    widest_vector_bits,
)
from polysched.machine.processors import default_costs, fma_pipes

_LINUX = "x86_64-unknown-linux-gnu"

# The features that the emitter uses, in the order in which processors introduced them. Each preset
# sets every feature explicitly, so that LLVM's defaults for the processor name do not matter.
_SSE = tuple("sse sse2".split())
_AVX2 = tuple("sse3 ssse3 sse4.1 sse4.2 popcnt avx f16c avx2 fma bmi bmi2 lzcnt movbe".split())
_AVX512 = tuple("avx512f avx512cd avx512bw avx512dq avx512vl".split())
_ICELAKE = tuple(
    "avx512vbmi avx512vbmi2 avx512ifma avx512vnni avx512bitalg avx512vpopcntdq gfni vaes "
    "vpclmulqdq".split()
)
_BF16 = ("avx512bf16",)
_SAPPHIRE = tuple("avx512fp16 avxvnni amx-tile amx-bf16 amx-int8".split())
_ZEN5 = tuple("avxvnni avx512vp2intersect".split())
# Never enabled: no Intel processor has them, and LLVM shuffles by them for the names of AMD's.
_ONLY_AMD = ("sse4a",)
_ALL = frozenset(_SSE + _AVX2 + _AVX512 + _ICELAKE + _BF16 + _SAPPHIRE + _ZEN5 + _ONLY_AMD)


def _preset(cpu: str, enabled: tuple[str, ...], caches: tuple[Cache, ...], name: str) -> Machine:
    features = {feature: feature in enabled for feature in _ALL}
    vector_bits = widest_vector_bits(frozenset(enabled))
    if vector_bits == 512:
        features["prefer-256-bit"] = False
    pipes = fma_pipes(cpu)
    return Machine(
        name=name,
        cpu=cpu,
        features=feature_string(features),
        triple=_LINUX,
        vector_bits=vector_bits,
        vector_registers=vector_registers(frozenset(enabled)),
        fma_units=pipes.units(vector_bits),
        fma_latency=pipes.latency,
        caches=caches,
        matrix_unit=matrix_unit(frozenset(enabled)),
        costs=default_costs(cpu),
    )


def _caches(*levels: tuple[int, int, int]) -> tuple[Cache, ...]:
    """Return caches with 64-byte lines from (KiB, ways, sharing processors), level 1 first."""
    return tuple(
        Cache(level=number, bytes=kib * 1024, line=64, associativity=ways, shared_by=shared)
        for number, (kib, ways, shared) in enumerate(levels, start=1)
    )


_HASWELL = _SSE + _AVX2
_SKYLAKE = _HASWELL + _AVX512
_ZNVER4 = _SKYLAKE + _ICELAKE + _BF16

# One core of each, as in server processors. The last-level cache is that of one socket or core
# complex.
_MACHINES = (
    _preset("x86-64", _SSE, _caches((32, 8, 1), (256, 8, 1)), "generic"),
    _preset("haswell", _HASWELL, _caches((32, 8, 2), (256, 8, 2), (20480, 20, 16)), "haswell-avx2"),
    _preset(
        "skylake-avx512",
        _SKYLAKE,
        _caches((32, 8, 2), (1024, 16, 2), (22528, 11, 32)),
        "skylake-avx512",
    ),
    _preset(
        "sapphirerapids",
        _ZNVER4 + _SAPPHIRE,
        _caches((48, 12, 2), (2048, 16, 2), (53760, 15, 56)),
        "sapphirerapids",
    ),
    _preset("znver4", _ZNVER4, _caches((32, 8, 2), (1024, 8, 2), (32768, 16, 16)), "znver4"),
    _preset(
        "znver5", _ZNVER4 + _ZEN5, _caches((48, 12, 2), (1024, 16, 2), (32768, 16, 16)), "znver5"
    ),
)

ALIASES = MappingProxyType({"zen4": "znver4", "zen5": "znver5"})
PRESETS = MappingProxyType({machine.name: machine for machine in _MACHINES})
