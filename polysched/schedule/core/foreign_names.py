"""Scheduling terms of other systems and the primitives that replace them, for messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from polysched.errors import suggestion

_SEVERAL: Mapping[str, str] = MappingProxyType(
    {
        "parallelise parallelize par par_for prange bind parallelize_loop": "parallel(loop)",
        "vectorise vectorize_loop simd prevector affine_super_vectorize": "vectorize(loop, lanes)",
        "strip_mine stripmine divide_loop chunk": "split(loop, factor)",
        "block tile_loop tile_using_for": "tile(loops, factors)",
        "affine_loop_tile l2tile second_level_tile": "tile(loops, factors)",
        "interchange permute swap sink hoist": "reorder(*loops), the outermost first",
        "loop_interchange reorder_loops": "reorder(*loops), the outermost first",
        "fission fiss loop_distribution loop_fission nofuse": "distribute(loop)",
        "fusion loop_fusion compute_with merge smartfuse maxfuse": "fuse(first, second)",
        "fuse_loops coalesce flatten mult_loops": "collapse(outer, inner, into)",
        "unroll_loop": "unroll(loop)",
        "unroll_and_jam unroll_jam jam": "split(loop, factor), reorder and unroll",
        "loop_unroll_and_jam unrolljam": "split(loop, factor), reorder and unroll",
        "time_skew wavefront diamond_tile": "skew(loop, by)",
        "compute_inline forward_substitute": "inline(array)",
        "recompute_at": "compute_at(producer, at, recompute=True)",
        "compute_root": "no step: a producer runs in a nest of its own unless compute_at moves it",
        "reverse_compute_at fuse_at fuse_into_containing_op": "compute_at(producer, at)",
        "store_at hoist_storage cache_write stage_mem in_register set_memory": "promote(array, at)",
        "cache_read pack_at transform_layout reorder_storage promote_read": "pack(array, at)",
        "contract rolling_buffer": "fold_storage(array, dimension, size)",
        "blockize": "tensorize(loop, instruction)",
        "tile_using_forall": "tile(loops, factors) and parallel(loop)",
        "double_buffer": "prefetch(array, at)",
        "partition": "divide(loop, parts)",
        "expand_dim privatise": "privatize(array, at)",
        "decompose_reduction atomic split_reduction": "rfactor(statement, loop)",
        "sequential serial": "no step: a loop is sequential unless a step says otherwise",
        "peel specialize partition_loop": "no step: full and partial tiles get code of their own",
        "loop_partition pad pad_einsum": "no step: full and partial tiles get code of their own",
        "align_bounds": "no step: full and partial tiles get code of their own",
        "gpu gpu_blocks gpu_threads gpu_tile": "parallel(loop) and vectorize(loop, lanes); there "
        "is no code for GPUs",
        "bound estimate set_estimate": "no step: sizes are declared with the kernel",
        "stream_to store_nontemporal": "stream(array)",
        "build jit realize": "compile()",
        "run call execute": "compile(), which returns the function to call",
        "threads num_threads set_num_threads": "compile(), whose function takes threads=",
        "load read from_file": "apply(file)",
        "print_loop_nest print lower get_loops loops get_block get_child_blocks": "show()",
        "autoschedule autotune auto optimize": "ps.optimize(schedule)",
        "export compile_to_file compile_to_object compile_to_c": "ps.export(schedule, path)",
        "save dump write to_file": "trace(), the text of a schedule file",
        "undo pop remove": "no step: a step returns a new schedule and leaves the old one as it is",
        "verify validate prove": "check()",
    }
)
"""Names in Halide, TVM, Exo, MLIR and textbooks, each with its replacement.

Our own names do not belong here.
"""

FOREIGN_NAMES: Mapping[str, str] = MappingProxyType(
    {name: ours for names, ours in _SEVERAL.items() for name in names.split()}
)

MODULE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "njit": "ps.jit",
        "guvectorize": "ps.jit",
        "stencil": "ps.jit",
        "prange": "range, and threads=2 of ps.jit or parallel(loop) of a schedule",
        "Func": "ps.KernelBuilder, or polysched.frontends.halide for Halide's notation",
        "Pipeline": "ps.KernelBuilder, or polysched.frontends.halide for Halide's notation",
        "Var": "build.loops(i=n) of a ps.KernelBuilder",
        "RDom": "build.loops(k=n) of a ps.KernelBuilder, with order='any' of the statement",
        "reduce_axis": "build.loops(k=n) of a ps.KernelBuilder, with order='any' of the statement",
        "Buffer": "build.input, build.output or build.inout of a ps.KernelBuilder",
        "placeholder": "build.input of a ps.KernelBuilder",
        "compute": "build.loops and an assignment, of a ps.KernelBuilder",
        "create_schedule": "ps.Schedule(kernel)",
        "build": "ps.compile(schedule)",
        "autoschedule": "ps.optimize(kernel)",
        "autotune": "ps.optimize(kernel)",
        "load_schedule": "ps.Schedule(kernel).apply(file)",
        "te": "ps.KernelBuilder for the computation, and ps.Schedule(kernel) for its schedule",
        "float32": "ps.f32",
        "float64": "ps.f64",
        "int32": "ps.i32",
        "int64": "ps.i64",
        "uint8": "ps.u8",
    }
)
"""Names of the modules of numba, Halide, TVM and numpy, each with its replacement."""

JIT_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "py_func": "python",
        "inspect_asm": "schedule.show('asm')",
        "inspect_types": "report()",
        "parallel_diagnostics": "report()",
        "nopython_signatures": "signatures",
    }
)
"""Attributes of numba's compiled functions, each with its replacement."""


def replacement(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the primitive to write, or near names."""
    ours = FOREIGN_NAMES.get(name.lower())
    return suggestion(name, known) if ours is None else f"; write {ours}"
