from collections.abc import Callable
from dataclasses import replace

import pytest

from polysched.errors import MachineError
from polysched.machine.cpuid import CHECKED, Question, Register, checkable, questions
from polysched.machine.detect import detect_host
from polysched.machine.load import load_machine
from polysched.machine.presets import PRESETS
from polysched.machine.x86_names import FEATURES

# Leaves, and what a processor has: numbers as the manuals print them.
HASWELL = {
    (0, 0, Register.EAX): 0xD,
    (1, 0, Register.ECX): 0x7FFAFBFF,
    (7, 0, Register.EAX): 0,
    (7, 0, Register.EBX): 0x000027AB,
    (None, 0, Register.EAX): 0b111,
    (0x80000000, 0, Register.EAX): 0x80000008,
    (0x80000001, 0, Register.ECX): 0x21,
}

Processor = dict[tuple[int | None, int, Register], int]


def says_yes(processor: Processor) -> Callable[[Question], bool]:
    """How a processor answers; it knows 0 of what is not listed."""

    def answer(question: Question) -> bool:
        value = processor.get((question.leaf, question.subleaf, question.register), 0)
        return value & question.mask == question.mask and value >= question.minimum

    return answer


def can_run(processor: Processor, machine: str) -> bool:
    features = checkable(load_machine(machine)).enabled_features
    return all(map(says_yes(processor), questions(features)))


def test_a_haswell() -> None:
    assert can_run(HASWELL, "generic")
    assert can_run(HASWELL, "haswell-avx2")
    assert not can_run(HASWELL, "skylake-avx512")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((1, 0, Register.ECX), 0x77FAFBFF),  # the system has not switched xgetbv on
        ((None, 0, Register.EAX), 0b11),  # it does not save the upper halves of registers
        ((7, 0, Register.EBX), 0x0000278B),  # no AVX2
        ((0, 0, Register.EAX), 5),  # no leaf 7
        ((0x80000001, 0, Register.ECX), 1),  # no LZCNT
        ((0x80000000, 0, Register.EAX), 0x80000000),  # nor the leaf that tells
    ],
)
def test_each_thing_that_a_processor_can_lack(
    place: tuple[int | None, int, Register], value: int
) -> None:
    assert not can_run({**HASWELL, place: value}, "haswell-avx2")
    assert can_run({**HASWELL, place: value}, "generic")


def test_what_is_asked_last_may_be_asked() -> None:
    """``xgetbv`` faults unless the system uses it; for a leaf that is missing another answers."""
    asked = questions(load_machine("sapphirerapids").enabled_features)
    places = [(one.leaf, one.subleaf) for one in asked]
    assert places.index((1, 0)) < places.index((None, 0))
    assert asked[places.index((1, 0))].mask & 1 << 27
    first = places.index((7, 0))
    assert Question(0, 0, Register.EAX, minimum=7) in asked[:first]
    assert Question(7, 0, Register.EAX, minimum=1) in asked[: places.index((7, 1))]
    assert Question(0x80000000, 0, Register.EAX, minimum=0x80000001) in asked[:-1]
    assert len(set(asked)) == len(asked)


def test_vectors_of_512_bits_need_their_registers_saved() -> None:
    saved = {features: questions(frozenset({features}))[1] for features in ("avx", "avx512f")}
    assert saved["avx"] == Question(None, 0, Register.EAX, 0b110)
    assert saved["avx512f"] == Question(None, 0, Register.EAX, 0b11100110)


def test_nothing_to_ask() -> None:
    assert questions(frozenset()) == ()
    assert questions(load_machine("generic").enabled_features) == ()


def test_a_feature_brings_along_what_it_is_built_on() -> None:
    """A file may say no more than avx512bw, and LLVM then uses AVX2 and FMA too."""
    machine = replace(load_machine("generic"), features="+avx512bw,-avx2")
    enabled = checkable(machine).enabled_features
    assert enabled >= {"avx512bw", "avx512f", "avx2", "fma", "f16c", "avx", "sse4.2", "sse3"}
    assert "avx512vl" not in enabled
    assert questions(frozenset({"avx512bw"})) == questions(enabled)


@pytest.mark.parametrize("name", ["host", *PRESETS])
def test_code_uses_only_what_is_asked_for(name: str) -> None:
    """The processor's name promises more; LLVM takes the list from left to right."""
    machine = load_machine(name)
    if not machine.triple.startswith("x86_64"):
        pytest.skip("another architecture")
    items = checkable(machine).features.split(",")
    assert len(items) == len({item[1:] for item in items})
    mentioned = {item[1:] for item in items}
    assert mentioned >= CHECKED
    assert {"-sse4a", "-xop", "-egpr", "-amx-tile", "-avx10.1", "-sha", "-vaes"} <= set(items)
    first_on = next(
        (i for i, item in enumerate(items) if item[1:] in CHECKED and item[0] == "+"), 0
    )
    assert all(item[0] == "+" for item in items[first_on:] if first_on)
    assert checkable(machine).enabled_features & CHECKED >= machine.enabled_features & CHECKED
    assert checkable(machine).matrix_unit is None


def test_the_names_are_llvms() -> None:
    assert CHECKED <= FEATURES


def test_hints_stay() -> None:
    machine = replace(load_machine("znver4"), features="+avx512f,-prefer-256-bit,+fast-gather")
    assert {"-prefer-256-bit", "+fast-gather"} <= set(checkable(machine).features.split(","))


def test_what_cannot_be_asked() -> None:
    arm = replace(load_machine("generic"), triple="aarch64-unknown-linux-gnu")
    with pytest.raises(MachineError, match="expected a triple that begins with 'x86_64'"):
        checkable(arm)
    with pytest.raises(MachineError, match="knows no x86 feature 'avx512g'"):
        checkable(replace(load_machine("generic"), features="+avx512g"))


def test_the_host_may_lack_nothing_that_it_has() -> None:
    host = detect_host()
    if not host.triple.startswith("x86_64"):
        pytest.skip("another architecture")
    assert checkable(host).missing_on(host) == ()
