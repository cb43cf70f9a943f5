"""Every strategy gives the same bits, for every pattern of an element in every lane."""

from __future__ import annotations

import numpy as np
import pytest

from polysched.errors import LoweringError
from polysched.ir.expr.dtypes import DType, NumberKind
from polysched.ir.semantics.bit_packing import pack_bits, unpack_bits
from polysched.llvm.subbyte.conversion import Conversion, Direction
from polysched.llvm.subbyte.probe import probe_module
from polysched.llvm.subbyte.strategies import STRATEGIES, applicable, cheapest, cost, strategy_named
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.jit import Entry, compile_module
from polysched.runtime.pipeline import CompileOptions
from tests.support.differential import NO_CACHE
from tests.support.effort import sampled
from tests.support.runnable import runnable

NARROW = [Conversion(bits, 8, 64, signed) for bits in range(1, 8) for signed in (False, True)]
MIDDLE = [Conversion(bits, 16, 32, bits % 2 == 0) for bits in (1, 4, 5, 9, 10, 12, 13, 15)]
WIDE = [Conversion(bits, 32, 16, bits % 2 == 1) for bits in (1, 4, 5, 12, 17, 20, 24, 29, 31)]
SHORT = [Conversion(bits, 8, lanes, True) for bits in (3, 4) for lanes in (1, 2, 4, 8, 16, 32)]
LONG = [Conversion(4, 16, 64), Conversion(5, 32, 64, True), Conversion(6, 32, 48)]
MOST_PATTERNS = 12


def patterns(conversion: Conversion) -> np.ndarray:
    """Vectors of values, each pattern once in every lane; of wide elements a walking bit."""
    bits, lanes = conversion.bits, conversion.lanes
    if bits <= MOST_PATTERNS:
        own = np.arange(1 << bits, dtype=np.int64)
    else:
        own = np.concatenate([1 << np.arange(bits), ((1 << bits) - 1) ^ (1 << np.arange(bits))])
    count = len(own)
    if bits <= 5:  # one pattern among random neighbors, in turn in every lane
        vectors = np.random.default_rng(bits).integers(0, 1 << bits, (lanes, count, lanes))
        for lane in range(lanes):
            vectors[lane, :, lane] = own
        return vectors.reshape(-1, lanes)
    return own[(np.arange(count)[:, None] + 7 * np.arange(lanes)) % count]


def element(conversion: Conversion, bits: int | None = None) -> DType:
    kind = NumberKind.SIGNED if conversion.is_signed else NumberKind.UNSIGNED
    return DType(kind, bits or conversion.bits)


def moved(
    direction: Direction, name: str, conversion: Conversion, given: np.ndarray, machine: Machine
) -> np.ndarray:
    """What a strategy makes of vectors, one a row; nothing behind the last one is written."""
    text = probe_module("probe", direction, name, conversion, machine)
    entry = Entry("probe", 2, 1)
    function = compile_module(text, entry, machine, CompileOptions(), NO_CACHE)
    size = conversion.bytes
    if direction is Direction.UNPACK:
        size = conversion.lanes * conversion.container // 8
    result = np.full(len(given) * size + 8, 0x5A, np.uint8)
    assert function.call(given.ctypes.data, result.ctypes.data, len(given)) == 0
    assert (result[-8:] == 0x5A).all()
    return result[:-8].reshape(len(given), size)


def check(conversion: Conversion, machine: Machine) -> set[str]:
    """All strategies of both directions against numpy; the names of those that were tried."""
    values = patterns(conversion)
    dtype, container = element(conversion), element(conversion, conversion.container).numpy()
    packed = pack_bits(values, dtype, overflow="wrap", rows="padded")
    unpacked = unpack_bits(packed, dtype, values.shape, rows="padded").astype(container)
    dirty = (values + (np.arange(values.size).reshape(values.shape) << conversion.bits)).astype(
        container
    )
    tried = set()
    for name in applicable(Direction.UNPACK, conversion, machine.enabled_features):
        got = moved(Direction.UNPACK, name, conversion, packed, machine).view(container)
        np.testing.assert_array_equal(got, unpacked, f"unpack {name} {conversion}")
        tried.add(f"unpack {name}")
    for name in applicable(Direction.PACK, conversion, machine.enabled_features):
        got = moved(Direction.PACK, name, conversion, dirty, machine)
        np.testing.assert_array_equal(got, packed, f"pack {name} {conversion}")
        tried.add(f"pack {name}")
    return tried


@pytest.mark.parametrize(
    "conversion",
    [*NARROW, *sampled([*MIDDLE, *WIDE, *SHORT], 2), *LONG],
    ids=lambda c: f"{'i' if c.is_signed else 'u'}{c.bits}in{c.container}x{c.lanes}",
)
def test_every_strategy_of_this_machine_is_the_plain_form(conversion: Conversion) -> None:
    tried = check(conversion, load_machine(None))
    assert {"unpack columns", "pack columns"} <= tried


@pytest.mark.parametrize("name", ["haswell-avx2", "generic"])
@pytest.mark.parametrize("bits", [1, 4, 5])
def test_other_machines_give_the_same_bits(bits: int, name: str) -> None:
    check(Conversion(bits, 8, 64, True), runnable(name))


def test_the_forms_for_avx512_are_tried_where_there_is_avx512() -> None:
    machine = load_machine("znver5")
    five = Conversion(5, 8, 64)
    names = {way: set(applicable(way, five, machine.enabled_features)) for way in Direction}
    assert names == {
        Direction.PACK: {"columns", "doubling", "multiply_add"},
        Direction.UNPACK: {"columns", "doubling", "multishift"},
    }
    plain = load_machine("haswell-avx2").enabled_features
    assert "multishift" not in applicable(Direction.UNPACK, five, plain)


@pytest.mark.parametrize("conversion", [*NARROW, *MIDDLE, *WIDE, *SHORT, *LONG])
@pytest.mark.parametrize("direction", Direction)
def test_the_cheapest_in_the_table_is_taken(direction: Direction, conversion: Conversion) -> None:
    for machine in ("znver5", "haswell-avx2", "generic"):
        features = load_machine(machine).enabled_features
        name, strategy = cheapest(direction, conversion, features)
        assert strategy is STRATEGIES[direction][name]
        least = cost(direction, name, conversion)
        for other in applicable(direction, conversion, features):
            assert least <= cost(direction, other, conversion)


def test_what_is_chosen_on_avx512() -> None:
    features = load_machine("znver5").enabled_features
    taken = {
        bits: [cheapest(way, Conversion(bits, 8, 64), features)[0] for way in Direction]
        for bits in (1, 4, 5, 7)
    }
    assert taken == {
        1: ["native", "native"],
        4: ["multiply_add", "multishift"],
        5: ["multiply_add", "multishift"],
        7: ["doubling", "multishift"],
    }


def test_bad_conversions_and_names() -> None:
    with pytest.raises(LoweringError, match="elements of 0 bits in lanes of 8; expected at least"):
        Conversion(0, 8, 64)
    with pytest.raises(LoweringError, match="elements of 8 bits in lanes of 8"):
        Conversion(8, 8, 64)
    with pytest.raises(LoweringError, match="lanes of 12 bits; expected a container"):
        Conversion(4, 12, 64)
    with pytest.raises(LoweringError, match="a vector of 0 lanes"):
        Conversion(4, 8, 0)
    with pytest.raises(LoweringError, match="unpack bits is named 'multishif'; did you mean"):
        strategy_named(Direction.UNPACK, "multishif")
