"""The check of the processor, run on this one and compared with what LLVM finds out."""

import pytest
from llvmlite import ir

from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.export.processor_check import emit_processor_check
from polysched.machine.cpuid import CHECKED, Question, Register, questions
from polysched.machine.detect import detect_host
from polysched.runtime.jit import Entry, emit_object, load_object

HOST = detect_host()

pytestmark = pytest.mark.skipif(
    not HOST.triple.startswith("x86_64"), reason="needs an x86-64 processor"
)


def module(*asked: Question) -> str:
    """A check, and a function that looks whether it is known to have succeeded."""
    made = ir.Module("check")
    check = emit_processor_check(made, "a", asked)
    function, builder = new_function(made, "known", ir.FunctionType(ir.IntType(32), []))
    builder.ret(builder.zext(check.is_known(builder), ir.IntType(32)))
    assert function.name == "known"
    return str(made)


def answers(*asked: Question) -> bool:
    """What the check says, the same twice."""
    entry = Entry("a_supported", 0, 0)
    function = load_object(emit_object(module(*asked), entry.symbol, HOST), entry, HOST)
    first = function.call()
    assert function.call() == first
    assert first in (0, 1)
    return bool(first)


@pytest.mark.parametrize("feature", sorted(CHECKED))
def test_the_processor_says_what_llvm_finds(feature: str) -> None:
    assert answers(*questions(frozenset({feature}))) == HOST.has(feature)


def test_no_question() -> None:
    assert answers()


def test_one_no_is_enough() -> None:
    yes = Question(0, 0, Register.EAX, minimum=1)
    no = Question(0, 0, Register.EAX, minimum=0xFFFFFFFF)
    assert answers(yes)
    assert answers(yes, yes)
    assert not answers(no)
    assert not answers(yes, no)
    assert not answers(no, yes)


def test_registers() -> None:
    """Leaf 0 spells the maker's name in EBX, EDX, ECX."""
    names = [b"GenuineIntel", b"AuthenticAMD"]
    matching = [
        name
        for name in names
        if answers(
            *(
                Question(0, 0, register, number, number)
                for register, number in zip(
                    (Register.EBX, Register.EDX, Register.ECX),
                    (int.from_bytes(name[at : at + 4], "little") for at in (0, 4, 8)),
                    strict=True,
                )
            )
        )
    ]
    vendor = next((one for one in names if one in maker()), None)
    assert matching == ([] if vendor is None else [vendor])


def maker() -> bytes:
    with open("/proc/cpuinfo", "rb") as file:
        return file.read(4096)


def test_code_for_every_processor() -> None:
    text = module(*questions(frozenset({"avx512f"})))
    assert '"target-cpu"="x86-64" "target-features"="+sse2"' in text
    assert text.count('asm sideeffect "cpuid"') >= 2
    assert text.count('asm sideeffect "xgetbv"') == 1
    assert text.count("load atomic") == 2
