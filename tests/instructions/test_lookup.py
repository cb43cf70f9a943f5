"""Finding instructions by name, by meaning and by processor."""

import pytest

import polysched as ps
from polysched.errors import InstructionError
from polysched.instructions.lookup import instruction_forms, sum_of_products
from polysched.ir.expr.dtypes import DType
from polysched.machine.load import load_machine
from tests.instructions.test_declaration import nest

VNNI = load_machine("zen4").enabled_features
PLAIN = load_machine("skylake-avx512").enabled_features


def mine(name: str) -> ps.Instruction:
    return ps.Instruction(nest(name=name), "llvm.x86.avx512.vpdpbusd.512", ("sums", "a", "b"))


@pytest.mark.parametrize(
    ("types", "terms", "lanes", "features", "name"),
    [
        ((ps.i8, ps.u8), 4, 16, VNNI, "vpdpbusd"),
        ((ps.i8, ps.i8), 4, 16, VNNI, None),
        ((ps.i8, ps.u8), 4, 16, PLAIN, None),
        ((ps.i8, ps.u8), 4, 32, VNNI, None),
        ((ps.i8, ps.i16), 2, 16, VNNI, "vpdpwssd"),
        ((ps.i8, ps.i16), 2, 16, PLAIN, "vpmaddwd"),
        ((ps.i16, ps.i16), 2, 4, frozenset({"sse2"}), "vpmaddwd"),
        ((ps.i16, ps.i16), 2, 8, frozenset({"sse2"}), None),
        ((ps.u16, ps.i16), 2, 4, frozenset({"sse2"}), None),
        ((ps.u8, ps.i8), 4, 8, frozenset({"avxvnni"}), "vpdpbusd"),
        ((ps.u8, ps.i8), 4, 8, frozenset({"avx512vnni"}), None),
        ((ps.u8, ps.i8), 4, 8, frozenset({"avx512vnni", "avx512vl"}), "vpdpbusd"),
    ],
)
def test_sums_of_products(
    types: tuple[DType, DType], terms: int, lanes: int, features: frozenset[str], name: str | None
) -> None:
    assert sum_of_products(types, terms, lanes, features) == name


def test_an_instruction_of_the_user() -> None:
    own = mine("own")
    assert instruction_forms(own, {}) == ("own", (own,))
    assert instruction_forms("own", {"own": (own,)}) == ("own", (own,))


def test_a_name_that_means_another_instruction() -> None:
    message = "another instruction is called 'vpdpbusd'; give the kernel of this one another name"
    with pytest.raises(InstructionError, match=message):
        instruction_forms(mine("vpdpbusd"), {})


def test_unknown_names() -> None:
    with pytest.raises(InstructionError) as caught:
        instruction_forms("vpdbusd", {})
    assert str(caught.value) == (
        "no instruction 'vpdbusd'; did you mean 'vpdpbusd', 'tdpbusd' or 'vpdpwssd'?; declare "
        "others as ps.Instruction"
    )
