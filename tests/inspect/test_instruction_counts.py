import dataclasses

import pytest

from polysched.inspect.instruction import parse_instruction
from polysched.inspect.instruction_counts import InstructionCounts, count

# The classes that every instruction falls into one of.
CLASSES = [field.name for field in dataclasses.fields(InstructionCounts)][1:21]


def counted(lines: str, frame: frozenset[str] = frozenset({"%rsp"})) -> InstructionCounts:
    return count([parse_instruction(line) for line in lines.split("|")], frame=frame)


def test_classes_add_up_to_the_total() -> None:
    counts = counted(
        "vfmadd231ps (%rsp), %zmm0, %zmm1|vmovups (%rdi), %zmm0|vmovups %zmm0, 8(%rsp)|retq|jne .L|"
        "cmpq $1, (%rsp)|vaddps %zmm0, %zmm1, %zmm1|addq $1, 8(%rsp)|movq 8(%rsp), %rax|callq f"
    )
    assert CLASSES[0] == "fma"
    assert CLASSES[-1] == "other"
    assert sum(getattr(counts, name) for name in CLASSES) == counts.total == 10


def test_fmas_and_their_operands() -> None:
    counts = counted(
        "vfmadd231ps (%rsi){1to16}, %zmm1, %zmm2|vfmadd231ps (%rsi), %zmm1, %zmm3|"
        "vfmadd231ps %zmm0, %zmm1, %zmm3|vfmadd231ps %ymm0, %ymm1, %ymm2 {%k1}|"
        "vfmadd231ss %xmm0, %xmm1, %xmm9"
    )
    assert (counts.fma, counts.fma_memory, counts.fma_broadcast) == (5, 2, 1)
    assert counts.accumulators == 3
    assert counts.widest_register == "zmm"
    assert (counts.masked, counts.single_lane) == (1, 1)


@pytest.mark.parametrize(
    ("line", "stores", "reloads", "folded"),
    [
        ("vmovups %zmm0, -64(%rsp)", 1, 0, 0),
        ("vmovups 64(%rsp), %zmm0", 0, 1, 0),
        ("vbroadcastss 64(%rsp), %zmm0", 0, 1, 0),
        ("movq %rax, 8(%rsp)", 1, 0, 0),
        ("movq 8(%rsp), %rax", 0, 1, 0),
        ("vfmadd231ps 64(%rsp), %zmm1, %zmm2", 0, 0, 1),
        ("addq 8(%rsp), %rax", 0, 0, 1),
        ("cmpq 8(%rsp), %rax", 0, 0, 1),
        # An array on the stack, an address, another register.
        ("vmovups (%rsp,%rax,4), %zmm0", 0, 0, 0),
        ("leaq 8(%rsp), %rax", 0, 0, 0),
        ("vmovups %zmm0, 64(%rbp)", 0, 0, 0),
        ("callq *8(%rsp)", 0, 0, 0),
    ],
)
def test_spills(line: str, stores: int, reloads: int, folded: int) -> None:
    counts = counted(line)
    assert (counts.spill_stores, counts.spill_reloads, counts.spill_folded) == (
        stores,
        reloads,
        folded,
    )
    assert counts.spills == stores + reloads + folded


def test_the_frame_may_have_a_pointer_of_its_own() -> None:
    assert counted("vmovups %zmm0, -64(%rbp)", frozenset({"%rsp", "%rbp"})).spill_stores == 1


def test_spills_are_no_stores() -> None:
    counts = counted(
        "vmovups %zmm0, (%rsp)|vmovups %zmm0, (%rdi)|movl %eax, (%rdi)|"
        "vscatterdps %zmm0, (%rdi,%zmm1,4) {%k1}"
    )
    assert counts.stores == 3
    assert counts.vector_stores == counts.scalar_stores == counts.scatters == 1


def test_vector_work_leaves_out_spills_and_scalars() -> None:
    counts = counted(
        "vmovups (%rdi), %zmm0|vmovups (%rsp), %zmm1|addq $1, %rax|vpermd %zmm0, %zmm1, %zmm2"
    )
    assert counts.vector_work == 2


def test_control_is_given_by_position() -> None:
    step = parse_instruction("addq $4, %rax")
    counts = count([step, step], control={1})
    assert (counts.loop_control, counts.scalar_arithmetic) == (1, 1)


@pytest.mark.parametrize(
    ("lines", "summary"),
    [
        (
            "vmovups (%rdi), %zmm0|vfmadd231ps (%rsi){1to16}, %zmm0, %zmm2|decq %rax|jne .L",
            "1 fma (1 accumulators, zmm; 1 from memory, 1 of them broadcast), 1 vector loads, "
            "1 scalar arithmetic, 1 loop control; no spills, no stores",
        ),
        (
            "vfmadd231ps %ymm1, %ymm0, %ymm2|vmovups %ymm0, (%rsp)|vmovups %ymm0, (%rdi)",
            "1 fma (1 accumulators, ymm), 1 vector stores; 1 spills, 1 stores",
        ),
    ],
)
def test_summary(lines: str, summary: str) -> None:
    assert counted(lines).summary() == summary


def test_nothing_at_all() -> None:
    assert count([]).summary() == "no instructions; no spills, no stores"
    assert count([]).widest_register is None
