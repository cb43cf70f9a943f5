"""Cost table for the choice of a strategy.

Measured with :mod:`polysched.llvm.subbyte.probe` on 16384 elements, which fit in the L2 cache with
their results, on one Zen 5 core with AVX-512: nanoseconds for 64 elements, the median over the
widths that a strategy supports. A copy of the unpacked bytes takes 0.4, 0.9 and 1.8 ns for lanes of
8, 16 and 32 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType

from polysched.llvm.subbyte.conversion import Conversion, Direction
from polysched.llvm.subbyte.strategies import Strategy, applicable

COSTS: Mapping[Direction, Mapping[str, Mapping[int, float]]] = MappingProxyType(
    {
        Direction.PACK: MappingProxyType(
            {
                "columns": {8: 1.15, 16: 2.2, 32: 5.0},
                "doubling": {8: 0.61, 16: 1.13, 32: 1.9},
                "multiply_add": {8: 0.53, 16: 1.08},
                "native": {8: 0.45, 16: 0.66, 32: 1.2},
            }
        ),
        Direction.UNPACK: MappingProxyType(
            {
                "columns": {8: 1.38, 16: 1.79, 32: 4.0},
                "doubling": {8: 0.93, 16: 1.54, 32: 2.1},
                "multishift": {8: 0.5, 16: 1.0, 32: 1.9},
                "native": {8: 0.39, 16: 0.72, 32: 1.4},
            }
        ),
    }
)
"""The costs by direction, strategy and bits of an unpacked lane.

``native`` moves single bits only, which are AVX-512's masks.
"""


def cost(direction: Direction, name: str, conversion: Conversion) -> float:
    """The cost of a strategy in nanoseconds for 64 elements."""
    return COSTS[direction][name][conversion.container]


def cheapest(
    direction: Direction, conversion: Conversion, features: Set[str]
) -> tuple[str, Strategy]:
    """The name and the cheapest strategy of a conversion on a machine with these features."""
    strategies = applicable(direction, conversion, features)
    name = min(strategies, key=lambda strategy: cost(direction, strategy, conversion))
    return name, strategies[name]
