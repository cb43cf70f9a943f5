import textwrap

import pytest
from llvmlite import binding

from polysched.errors import AssemblyError
from polysched.inspect.assembly import Function, Loop, hot_loop, parse
from polysched.machine.description import Machine
from polysched.machine.presets import PRESETS
from polysched.machine.target import target_machine


def only(assembly: str) -> Function:
    (function,) = parse(textwrap.dedent(assembly))
    return function


def hot(function: Function) -> Loop:
    loop = hot_loop(function)
    assert loop is not None
    return loop


def emit(llvm: str, machine: Machine = PRESETS["skylake-avx512"]) -> str:
    module = binding.parse_assembly(llvm)
    module.verify()
    return str(target_machine(machine).emit_assembly(module))


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


def tile_kernel(rows: int, columns: int) -> str:
    """LLVM IR of C[i][j] += A[k][i] * B[k][j] over k, on `rows` x 16 `columns` floats."""
    tile = [(i, j) for i in range(rows) for j in range(columns)]
    vector, zeros = "<16 x float>", "<16 x i32> zeroinitializer"
    lines = [
        "define void @tile(i64 %n, ptr noalias %a, ptr noalias %b, ptr noalias %c) {",
        "entry:",
    ]
    for number, (i, j) in enumerate(tile):
        lines += [
            f"  %at_{i}_{j} = getelementptr {vector}, ptr %c, i64 {number}",
            f"  %start_{i}_{j} = load {vector}, ptr %at_{i}_{j}, align 64",
        ]
    lines += ["  br label %loop", "loop:", "  %k = phi i64 [ 0, %entry ], [ %next, %loop ]"]
    lines += [
        f"  %x_{i}_{j} = phi {vector} [ %start_{i}_{j}, %entry ], [ %y_{i}_{j}, %loop ]"
        for i, j in tile
    ]
    lines += [
        f"  %row = mul i64 %k, {columns}",
        f"  %b_row = getelementptr {vector}, ptr %b, i64 %row",
        f"  %line = mul i64 %k, {rows}",
        "  %a_row = getelementptr float, ptr %a, i64 %line",
    ]
    for j in range(columns):
        lines += [
            f"  %b_at_{j} = getelementptr {vector}, ptr %b_row, i64 {j}",
            f"  %b_{j} = load {vector}, ptr %b_at_{j}, align 64",
        ]
    for i in range(rows):
        lines += [
            f"  %a_at_{i} = getelementptr float, ptr %a_row, i64 {i}",
            f"  %a_{i} = load float, ptr %a_at_{i}, align 4",
            f"  %one_{i} = insertelement {vector} poison, float %a_{i}, i32 0",
            f"  %all_{i} = shufflevector {vector} %one_{i}, {vector} poison, {zeros}",
        ]
    for i, j in tile:
        lines += [
            f"  %m_{i}_{j} = fmul contract {vector} %all_{i}, %b_{j}",
            f"  %y_{i}_{j} = fadd contract {vector} %x_{i}_{j}, %m_{i}_{j}",
        ]
    lines += [
        "  %next = add i64 %k, 1",
        "  %more = icmp ult i64 %next, %n",
        "  br i1 %more, label %loop, label %done",
        "done:",
    ]
    lines += [f"  store {vector} %y_{i}_{j}, ptr %at_{i}_{j}, align 64" for i, j in tile]
    return "\n".join([*lines, "  ret void", "}"])


@pytest.mark.parametrize(("rows", "columns"), [(5, 4), (6, 4), (14, 2)])
def test_a_register_tile_as_llvm_emits_it(rows: int, columns: int) -> None:
    counts = hot(only(emit(tile_kernel(rows, columns)))).counts
    assert counts.fma == counts.accumulators == rows * columns
    assert counts.widest_register == "zmm"
    assert counts.vector_loads == columns
    # Each element of A is broadcast by an instruction of its own or by the FMA that reads it.
    assert counts.broadcasts * columns + counts.fma_broadcast == rows * columns
    assert counts.spills == counts.stores == counts.shuffles == 0
    assert counts.loop_control >= 2
    assert (
        counts.fma + counts.vector_loads + counts.broadcasts + counts.loop_control == counts.total
    )


def test_a_tile_too_large_for_the_registers_spills() -> None:
    counts = hot(only(emit(tile_kernel(10, 4)))).counts
    assert counts.fma == 40
    assert counts.spill_stores > 0
    assert counts.spill_reloads + counts.spill_folded > 0


def test_with_narrower_registers_the_same_tile_is_ymm_and_spills() -> None:
    counts = hot(only(emit(tile_kernel(5, 4), PRESETS["haswell-avx2"]))).counts
    assert counts.widest_register == "ymm"
    assert counts.fma == 40
    assert counts.spills > 0


MASKED = """
define void @masked(i64 %n, ptr noalias %x, ptr noalias %y, <16 x i1> %mask) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr <16 x i32>, ptr %x, i64 %k
  %index = call <16 x i32> @llvm.masked.load.v16i32.p0(
      ptr align 4 %from, <16 x i1> %mask, <16 x i32> zeroinitializer)
  %to = getelementptr float, ptr %y, <16 x i32> %index
  %v = call <16 x float> @llvm.masked.gather.v16f32.v16p0(
      <16 x ptr> align 4 %to, <16 x i1> %mask, <16 x float> zeroinitializer)
  %w = call <16 x float> @llvm.masked.expandload.v16f32(ptr %from, <16 x i1> %mask, <16 x float> %v)
  call void @llvm.masked.store.v16f32.p0(<16 x float> %w, ptr align 4 %from, <16 x i1> %mask)
  call void @callback()
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare void @callback()
declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, <16 x i1>, <16 x i32>)
declare <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr>, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.masked.expandload.v16f32(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
"""


def test_masks_gathers_and_calls_as_llvm_emits_them() -> None:
    counts = hot(only(emit(MASKED))).counts
    assert counts.gathers == 1
    assert counts.calls == 1
    assert counts.vector_stores == 1
    assert counts.shuffles >= 1
    # The mask outlives a call only in memory.
    assert counts.mask_operations + counts.spill_reloads > 0
    assert counts.masked >= 4


def test_nested_loops_as_llvm_emits_them() -> None:
    function = only(
        emit(
            """
define void @add(i64 %n, ptr noalias %x) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  %row = mul i64 %i, %n
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %inner ]
  %p = add i64 %row, %j
  %at = getelementptr <16 x float>, ptr %x, i64 %p
  %v = load <16 x float>, ptr %at, align 4
  %w = fadd <16 x float> %v, %v
  store <16 x float> %w, ptr %at, align 4
  %j1 = add i64 %j, 1
  %mj = icmp ult i64 %j1, %n
  br i1 %mj, label %inner, label %latch
latch:
  %i1 = add i64 %i, 1
  %mi = icmp ult i64 %i1, %n
  br i1 %mi, label %outer, label %done
done:
  ret void
}
"""
        )
    )
    outer, inner = function.loops
    assert (outer.depth, inner.depth) == (1, 2)
    assert hot(function) is inner
    assert (inner.counts.vector_arithmetic, inner.counts.vector_stores) == (1, 1)
    assert inner.counts.vector_loads == 1
    assert outer.counts.total > inner.counts.total
