import pytest

from polysched.machine.processors import (
    DEFAULT_PIPES,
    FMA_PIPES,
    credible_processor,
    default_costs,
    fma_pipes,
)
from polysched.machine.x86_names import PROCESSORS


def test_units_depend_on_the_width() -> None:
    zen4 = fma_pipes("znver4")
    assert [zen4.units(bits) for bits in (512, 256, 128)] == [1, 2, 2]


def test_sapphire_rapids_packs_for_fewer_rows() -> None:
    server, zen4 = (default_costs(cpu).page_packing_rows for cpu in ("sapphirerapids", "znver4"))
    assert server < zen4


def test_unknown_processors_get_the_default() -> None:
    assert fma_pipes("z80") is DEFAULT_PIPES


@pytest.mark.parametrize(
    ("cpu", "features", "expected"),
    [
        ("rocketlake", {"avx512f", "amx-tile"}, "sapphirerapids"),
        ("icelake-server", {"amx-tile", "amx-fp16"}, "graniterapids"),
        ("emeraldrapids", {"amx-tile"}, "emeraldrapids"),
        ("rocketlake", {"avx512f"}, "rocketlake"),
    ],
)
def test_a_name_must_go_with_the_features(cpu: str, features: set[str], expected: str) -> None:
    """Some virtual machines report the model number of another processor."""
    assert credible_processor(cpu, features) == expected


@pytest.mark.parametrize("cpu", sorted(FMA_PIPES))
def test_the_table_uses_llvms_names(cpu: str) -> None:
    assert cpu in PROCESSORS
