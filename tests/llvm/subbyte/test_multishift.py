"""Which conversions ``vpmultishiftqb`` can do, and what it takes."""

import pytest

from polysched.llvm.subbyte.conversion import Conversion, Direction
from polysched.llvm.subbyte.multishift import can_multishift
from polysched.llvm.subbyte.probe import probe_module
from polysched.machine.load import load_machine
from polysched.runtime.jit import emit_assembly


@pytest.mark.parametrize(
    ("bits", "container", "lanes", "can"),
    [
        (5, 8, 64, True),
        (5, 8, 16, True),
        (5, 8, 8, False),  # half a register
        (5, 32, 128, True),
        (15, 16, 32, True),
        (31, 32, 16, False),  # 62 bits that begin 6 bits behind a byte's start
        (28, 32, 16, True),
    ],
)
def test_what_it_can_do(bits: int, container: int, lanes: int, can: bool) -> None:
    assert can_multishift(Conversion(bits, container, lanes)) is can


@pytest.mark.parametrize(("bits", "container", "lanes"), [(5, 8, 64), (12, 16, 32), (4, 32, 16)])
def test_one_instruction_for_a_register(bits: int, container: int, lanes: int) -> None:
    machine = load_machine("znver5")
    conversion = Conversion(bits, container, lanes)
    text = probe_module("probe", Direction.UNPACK, "multishift", conversion, machine)
    assembly = emit_assembly(text, machine)
    assert assembly.count("vpmultishiftqb") == 1
    assert assembly.count("vperm") == (1 if bits * lanes > 64 else 0)
