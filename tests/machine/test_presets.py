import pytest
from llvmlite import binding

from polysched.inspect.assembly import hot_loop, parse
from polysched.machine.description import Machine
from polysched.machine.peak import peak_kernel
from polysched.machine.presets import ALIASES, PRESETS
from polysched.machine.target import target_machine

WIDTH = {512: "zmm", 256: "ymm", 128: "xmm"}


@pytest.mark.parametrize("machine", PRESETS.values(), ids=list(PRESETS))
def test_llvm_emits_for_a_preset_vectors_of_its_width(machine: Machine) -> None:
    module = binding.parse_assembly(peak_kernel(machine))
    (function,) = parse(target_machine(machine).emit_assembly(module))
    loop = hot_loop(function)
    assert loop is not None
    assert loop.counts.widest_register == WIDTH[machine.vector_bits]
    assert bool(loop.counts.fma) == machine.has("fma")


def test_presets_are_found_under_their_own_name() -> None:
    assert all(machine.name == name for name, machine in PRESETS.items())
    assert all(name in PRESETS for name in ALIASES.values())


def test_what_a_preset_lacks_is_switched_off_explicitly() -> None:
    features = PRESETS["haswell-avx2"].features.split(",")
    assert "+fma" in features
    assert "-avx512f" in features
    assert "-amx-tile" in PRESETS["znver5"].features.split(",")
    # The name 'znver4' promises it, and Intel's processors, which run all else, abort.
    assert "-sse4a" in PRESETS["znver4"].features.split(",")
    assert PRESETS["sapphirerapids"].matrix_unit == "amx"
    assert PRESETS["znver4"].matrix_unit is None
