"""The strategies of packing and unpacking by name, where each of them applies, and their costs.

==================== ============================================================== ==============
name                 how                                                            where
==================== ============================================================== ==============
``columns``          MLIR's plain form: shuffle, and, shifts, or for every column    everywhere
``doubling``         fields merged or spread in lanes of twice the width             groups of lanes
``multiply_add``     packing: the merging done by ``vpmaddubsw`` and ``vpmaddwd``    AVX-512 BW
``multishift``       unpacking: ``vpermb`` and ``vpmultishiftqb``                    AVX-512 VBMI
``native``           LLVM's own lowering of the bitcast                              single bits
==================== ============================================================== ==============

All strategies compute the same bits. The tests check every bit pattern of an element in every lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType

from polysched.errors import LoweringError, suggestion
from polysched.llvm.subbyte import multishift
from polysched.llvm.subbyte.columns import pack_columns, unpack_columns
from polysched.llvm.subbyte.conversion import Conversion, Direction, Rewrite
from polysched.llvm.subbyte.doubling import (
    MULTIPLY_ADD_FEATURES,
    can_double,
    can_multiply_add,
    pack_doubling,
    pack_multiply_add,
    unpack_doubling,
)
from polysched.llvm.subbyte.multishift import can_multishift, unpack_multishift
from polysched.llvm.subbyte.native import can_bitcast, pack_native, unpack_native

_COSTS: Mapping[Direction, Mapping[str, Mapping[int, float]]] = MappingProxyType(
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


@dataclass(frozen=True)
class Strategy:
    """A strategy of packing or unpacking.

    Attributes:
        rewrite: the function that emits the strategy.
        applies: whether the strategy supports a conversion.
        features: LLVM's names of the features that the strategy requires.
    """

    rewrite: Rewrite
    applies: Callable[[Conversion], bool]
    features: frozenset[str] = frozenset()


def _always(conversion: Conversion) -> bool:
    return True


STRATEGIES: Mapping[Direction, Mapping[str, Strategy]] = MappingProxyType(
    {
        Direction.PACK: MappingProxyType(
            {
                "columns": Strategy(pack_columns, _always),
                "doubling": Strategy(pack_doubling, can_double),
                "multiply_add": Strategy(
                    pack_multiply_add, can_multiply_add, MULTIPLY_ADD_FEATURES
                ),
                "native": Strategy(pack_native, can_bitcast),
            }
        ),
        Direction.UNPACK: MappingProxyType(
            {
                "columns": Strategy(unpack_columns, _always),
                "doubling": Strategy(unpack_doubling, can_double),
                "multishift": Strategy(unpack_multishift, can_multishift, multishift.FEATURES),
                "native": Strategy(unpack_native, can_bitcast),
            }
        ),
    }
)
"""Every strategy by direction and name."""


def applicable(
    direction: Direction, conversion: Conversion, features: Set[str]
) -> Mapping[str, Strategy]:
    """The strategies for a conversion on a machine with these features, by name."""
    return {
        name: strategy
        for name, strategy in STRATEGIES[direction].items()
        if strategy.features <= features and strategy.applies(conversion)
    }


def strategy_named(direction: Direction, name: str) -> Strategy:
    """Return a strategy by name."""
    strategy = STRATEGIES[direction].get(name)
    if strategy is None:
        raise LoweringError(
            f"no strategy to {direction.value} bits is named '{name}'"
            f"{suggestion(name, STRATEGIES[direction])}"
        )
    return strategy


def cost(direction: Direction, name: str, conversion: Conversion) -> float:
    """The cost of a strategy in nanoseconds for 64 elements."""
    return _COSTS[direction][name][conversion.container]


def cheapest(
    direction: Direction, conversion: Conversion, features: Set[str]
) -> tuple[str, Strategy]:
    """The name and the cheapest strategy of a conversion on a machine with these features."""
    strategies = applicable(direction, conversion, features)
    name = min(strategies, key=lambda strategy: cost(direction, strategy, conversion))
    return name, strategies[name]
