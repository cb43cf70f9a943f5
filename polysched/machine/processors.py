"""FMA units and costs by LLVM processor name, which no ``cpuid`` leaf reports.

Sources: Intel's optimization reference manual, AMD's software optimization guides for families 17h,
19h and 1Ah, Agner Fog's instruction tables, uops.info.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType

from polysched.machine.costs import Costs


@dataclass(frozen=True)
class FmaPipes:
    """FMAs started per cycle at 512 bits and at up to 256 bits, and the latency in cycles."""

    units_512: int
    units_256: int
    latency: int

    def units(self, vector_bits: int) -> int:
        """Return the FMAs of that width started per cycle."""
        return self.units_512 if vector_bits > 256 else self.units_256


_INTEL_SERVER = FmaPipes(units_512=2, units_256=2, latency=4)
# Client processors with AVX-512 fuse ports 0 and 1 into a single 512-bit pipe.
_INTEL_CLIENT = FmaPipes(units_512=1, units_256=2, latency=4)

# Two pipes and four cycles: true of most processors since 2015, and assumed for unknown processors.
# A wrong guess makes register tiles a little too large or small, never wrong code.
DEFAULT_PIPES = FmaPipes(units_512=2, units_256=2, latency=4)

FMA_PIPES: dict[str, FmaPipes] = {
    "haswell": FmaPipes(units_512=1, units_256=2, latency=5),
    "broadwell": FmaPipes(units_512=1, units_256=2, latency=5),
    "skylake": _INTEL_CLIENT,
    "cannonlake": _INTEL_CLIENT,
    "icelake-client": _INTEL_CLIENT,
    "rocketlake": _INTEL_CLIENT,
    "tigerlake": _INTEL_CLIENT,
    "alderlake": _INTEL_CLIENT,
    "raptorlake": _INTEL_CLIENT,
    "meteorlake": _INTEL_CLIENT,
    "arrowlake": _INTEL_CLIENT,
    "lunarlake": _INTEL_CLIENT,
    "skylake-avx512": _INTEL_SERVER,
    "cascadelake": _INTEL_SERVER,
    "cooperlake": _INTEL_SERVER,
    "icelake-server": _INTEL_SERVER,
    "sapphirerapids": _INTEL_SERVER,
    "emeraldrapids": _INTEL_SERVER,
    "graniterapids": _INTEL_SERVER,
    # A 256-bit operation takes two 128-bit halves.
    "znver1": FmaPipes(units_512=1, units_256=1, latency=5),
    "znver2": FmaPipes(units_512=1, units_256=2, latency=5),
    "znver3": FmaPipes(units_512=1, units_256=2, latency=4),
    # Two 256-bit pipes: a 512-bit FMA takes both.
    "znver4": FmaPipes(units_512=1, units_256=2, latency=4),
    "znver5": FmaPipes(units_512=2, units_256=2, latency=4),
}


# Features that only some processors have; the first name stands for an unknown one of them.
_OWNERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "amx-fp16": ("graniterapids", "graniterapids-d", "diamondrapids"),
        "amx-tile": (
            "sapphirerapids",
            "emeraldrapids",
            "graniterapids",
            "graniterapids-d",
            "diamondrapids",
        ),
    }
)


# Measured by `polysched machine --calibrate` in a virtual machine with 480 MiB of L3. A line of
# arrays of 3 to 64 MiB takes 7.0 to 7.4 cycles, half of `line_into_l1` among them, and one of
# 128 MiB takes 12. A line into L1 takes 1.2 to 1.3: with 1.2, sums along the rows of two matrices
# (gesummv) are predicted to gain by eight rows at a time, which take 1.5 times as long. The reorder
# buffer has 512 entries, 1.6 times those of Zen 4.
#
# Times of products without packing over those with it: 64x1000x1000 1.11, 128x1000x1000 1.19,
# 250x1000x1000 1.23, 300x1000x300 1.25 and 1000^3 1.27 in f32; 1.12, 1.21, 1.37, 1.18 and 1.35 in
# f64.
#
# Arrays of numpy do not begin at cache lines, and each load across two takes two turns of the ports
# that feed two FMA units: rates with packing over those without, 1.02 at 64^3, 1.07 at 128x64x64,
# 1.12 at 256x64x64, 1.12 at 1024x64x64 and 1.06 at 256^3 in f32; 1.06, 1.12 and 1.15 in f64.
_SAPPHIRE_COSTS = Costs(
    line_into_l1=1.3,
    line_into_l2=6.5,
    near_page=0.4,
    far_page=17.0,
    gathered_lane=0.5,
    gathered_narrow_lane=1.6,
    division=8.9,
    vector_function=6.6,
    aligned_vectors=8,
    instructions_in_flight=400,
    page_packing_rows=64,
    aligning_rows=64,
)


def default_costs(cpu: str) -> Costs:
    """Return the costs of LLVM's processor `cpu` that nobody has calibrated."""
    return _SAPPHIRE_COSTS if cpu in _OWNERS["amx-tile"] else Costs()


def credible_processor(cpu: str, enabled: Set[str]) -> str:
    """Return `cpu`, or a processor that has the `enabled` features if `cpu` does not have them.

    LLVM names the host by its family and model number, and some virtual machines report the number
    of an older client processor beside the features of a server: Rocket Lake with AMX.
    """
    for feature, owners in _OWNERS.items():
        if feature in enabled:
            return cpu if cpu in owners else owners[0]
    return cpu


def fma_pipes(cpu: str) -> FmaPipes:
    """Return the FMA pipes of LLVM's processor `cpu`; `DEFAULT_PIPES` if the table lacks it."""
    return FMA_PIPES.get(cpu, DEFAULT_PIPES)
