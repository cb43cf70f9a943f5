"""Loops and counts in assembly as LLVM emits it."""

import pytest
from llvmlite import binding

from polysched.machine.description import Machine
from polysched.machine.presets import PRESETS
from polysched.machine.target import target_machine
from tests.inspect.assembly_text import hot, only


def emit(llvm: str, machine: Machine = PRESETS["skylake-avx512"]) -> str:
    module = binding.parse_assembly(llvm)
    module.verify()
    return str(target_machine(machine).emit_assembly(module))


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
