import pytest

from polysched.errors import AssemblyError
from polysched.inspect.assembly import hot_loop, parse
from tests.inspect.assembly_text import hot, only

NESTED = """
        .text
        .globl  f
        .type   f,@function
f:                                      # @f
        .cfi_startproc
        xorl    %eax, %eax
.LBB0_1:                                # =>This Loop Header: Depth=1
        xorl    %ecx, %ecx
.LBB0_2:                                #   Parent Loop BB0_1 Depth=1
        vmovups (%rsi), %zmm0
        vfmadd231ps     (%rdi){1to16}, %zmm0, %zmm1
        addq    $64, %rsi
        incq    %rcx
        cmpq    %rdx, %rcx
        jne     .LBB0_2
        vmovups %zmm1, (%r8)
.LBB0_3:
        vaddps  (%r9), %zmm0, %zmm0
        decq    %r10
        jne     .LBB0_3
        incq    %rax
        cmpq    %rdx, %rax
        jne     .LBB0_1
        vzeroupper
        retq
.Lfunc_end0:
        .size   f, .Lfunc_end0-f
        .cfi_endproc
"""


def test_nested_loops() -> None:
    function = only(NESTED)
    assert function.name == "f"
    assert [(loop.header, loop.depth, loop.is_innermost) for loop in function.loops] == [
        (".LBB0_1", 1, False),
        (".LBB0_2", 2, True),
        (".LBB0_3", 2, True),
    ]
    outer = function.loops[0]
    assert (outer.counts.total, outer.counts.fma, outer.counts.vector_stores) == (14, 1, 1)
    assert function.counts.total == 17


def test_the_hot_loop_is_the_innermost_with_most_fmas() -> None:
    loop = hot(only(NESTED))
    assert loop.header == ".LBB0_2"
    assert loop.counts.summary() == (
        "1 fma (1 accumulators, zmm; 1 from memory, 1 of them broadcast), 1 vector loads, "
        "4 loop control; no spills, no stores"
    )


def test_without_fmas_the_hot_loop_has_most_vector_instructions() -> None:
    function = only(
        """
        f:
        .LBB0_1:
                addq    $1, %rax
                shlq    $2, %rcx
                imulq   %rcx, %rdx
                decq    %rdi
                jne     .LBB0_1
        .LBB0_2:
                vmovups (%rsi), %zmm0
                decq    %r9
                jne     .LBB0_2
                retq
        """
    )
    assert hot(function).header == ".LBB0_2"


def test_of_equal_loops_the_shorter_is_hot() -> None:
    function = only(
        """
        f:
        .LBB0_1:
                kmovw   %eax, %k1
                vfmadd231ps     (%rsi), %zmm0, %zmm1 {%k1}
                decq    %rdi
                jne     .LBB0_1
        .LBB0_2:
                vfmadd231ps     (%rsi), %zmm0, %zmm1
                decq    %r9
                jne     .LBB0_2
                retq
        """
    )
    assert hot(function).header == ".LBB0_2"
    assert function.loops[0].counts.mask_operations == 1


def test_a_loop_may_end_with_an_unconditional_jump() -> None:
    function = only(
        """
        f:
        .LBB0_1:
                cmpq    %rax, %rdi
                je      .LBB0_3
                vaddps  (%rdi), %zmm0, %zmm0
                addq    $64, %rdi
                jmp     .LBB0_1
        .LBB0_3:
                retq
        """
    )
    assert hot(function).counts.total == 5
    assert hot(function).counts.loop_control == 4


def test_a_jump_back_that_closes_no_cycle_is_no_loop() -> None:
    function = only(
        """
        f:
                jmp     .LBB0_2
        .LBB0_1:
                vmovups %zmm0, (%rdi)
                retq
        .LBB0_2:
                testq   %rdi, %rdi
                jne     .LBB0_1
                retq
        """
    )
    assert function.loops == ()
    assert hot_loop(function) is None


def test_blocks_out_of_line_belong_to_the_loop_that_they_come_back_to() -> None:
    function = only(
        """
        f:
        .LBB0_1:
                vfmadd231ps     %zmm0, %zmm1, %zmm2
                testq   %rax, %rax
                je      .LBB0_3
        .LBB0_2:
                decq    %rdi
                jne     .LBB0_1
                retq
        .LBB0_3:
                vaddps  %zmm3, %zmm2, %zmm2
                jmp     .LBB0_2
        """
    )
    (loop,) = function.loops
    assert loop.counts.total == 7
    assert loop.counts.vector_arithmetic == 1


def test_two_ways_back_to_one_header_are_one_loop() -> None:
    function = only(
        """
        f:
        .LBB0_1:
                decq    %rdi
                js      .LBB0_1
                vaddps  %zmm3, %zmm2, %zmm2
                decq    %rsi
                jne     .LBB0_1
                retq
        """
    )
    (loop,) = function.loops
    assert (loop.counts.total, loop.is_innermost, loop.depth) == (5, True, 1)


def test_jump_tables() -> None:
    function = only(
        """
        f:
        .LBB0_1:
                jmpq    *.LJTI0_0(,%rax,8)
        .LBB0_2:
                addq    $1, %rax
                jmp     .LBB0_4
        .LBB0_3:
                vaddps  %zmm3, %zmm2, %zmm2
        .LBB0_4:
                decq    %rdi
                jne     .LBB0_1
                retq
        .Lfunc_end0:
                .size   f, .Lfunc_end0-f
                .section        .rodata,"a",@progbits
        .LJTI0_0:
                .quad   .LBB0_2
                .quad   .LBB0_3
        """
    )
    (loop,) = function.loops
    assert loop.counts.total == 6


FRAME = """
f:
        pushq   %rbp
        {save}
        andq    $-64, %rsp
.LBB0_1:
        vmovups %zmm0, -64(%rbp)
        vmovups 128(%rsp), %zmm1
        decq    %rdi
        jne     .LBB0_1
        retq
"""


@pytest.mark.parametrize(
    ("save", "stores", "spills"),
    [("movq    %rsp, %rbp", 0, 2), ("movq    %rdi, %rbp", 1, 1), ("movq    %rsp, %rdi", 1, 1)],
)
def test_the_base_pointer_is_the_frames_only_where_it_copies_the_stack_pointer(
    save: str, stores: int, spills: int
) -> None:
    counts = hot(only(FRAME.format(save=save))).counts
    assert (counts.stores, counts.spills) == (stores, spills)


def test_constants_and_data_are_no_functions() -> None:
    functions = parse(
        """
        .section .rodata.cst4,"aM",@progbits,4
.LCPI0_0:
        .long 0x3f800000
        .section .ltext,"axl",@progbits
first:
        vbroadcastss .LCPI0_0(%rip), %zmm0
        retq
.Lfunc_end0:
"second function":
        jmp     first
        .data
counter:
        .quad 7
        .section ".note.GNU-stack","",@progbits
"""
    )
    assert [function.name for function in functions] == ["first", "second function"]
    assert functions[0].counts.broadcasts == 1
    assert functions[1].loops == ()


def test_empty_text() -> None:
    assert parse("") == ()


def test_intel_syntax_is_refused() -> None:
    with pytest.raises(AssemblyError, match="in Intel syntax; expected AT&T syntax"):
        parse("\t.intel_syntax noprefix\nf:\n\tret\n")


def test_a_lost_label_is_named() -> None:
    with pytest.raises(AssemblyError, match="function 'f' jumps to '.LBB0_7', which has no such"):
        parse("f:\n\tjne .LBB0_7\n\tretq\n")
