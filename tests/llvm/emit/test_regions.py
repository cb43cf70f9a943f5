"""Parallel loops in LLVM's text: the functions that threads run."""

import re

from polysched.ir.expr.dtypes import f32
from polysched.llvm.emit.module import emit_module
from polysched.lower import lower
from polysched.machine.load import load_machine
from polysched.runtime.jit import emit_assembly
from polysched.schedule.schedule import Schedule
from tests.support import kernels

MACHINE = load_machine("skylake-avx512")


def module(schedule: Schedule) -> str:
    return emit_module(lower(schedule), MACHINE)


def functions(text: str) -> dict[str, str]:
    """The header of every function that a module defines, by name."""
    heads = re.findall(r"^define (.*)@\"?([\w.]+)\"?\((.*)\)", text, re.MULTILINE)
    return {name: f"{before}({after})" for before, name, after in heads}


def test_a_kernel_without_parallel_loops_takes_no_team() -> None:
    assert functions(module(Schedule(kernels.scale(8)))).keys() == {"scale"}


def test_a_region_has_a_body_and_what_threads_run() -> None:
    found = functions(module(Schedule(kernels.scale()).parallel("i")))
    assert found.keys() == {"scale", "scale.region0", "scale.region0.work"}
    assert found["scale"].count("ptr") == 3  # x, y, the team
    assert found["scale"].count("i64") == 2  # n, the number of threads
    assert found["scale.region0"].startswith("internal void")
    assert found["scale.region0"].count("ptr noalias") == 2


def test_only_the_outermost_parallel_loop_is_a_region() -> None:
    found = functions(module(Schedule(kernels.grid()).parallel("i").parallel("j")))
    assert found.keys() == {"grid", "grid.region0", "grid.region0.work"}


def test_every_parallel_loop_is_a_region() -> None:
    schedule = Schedule(kernels.jacobi()).parallel("there.i").parallel("back.i")
    assert "jacobi.region1" in functions(module(schedule))


def test_large_buffers_are_the_chunks_own() -> None:
    schedule = Schedule(kernels.matmul(512, 512, 512, dtype=f32)).split("update.j", 64)
    schedule = schedule.reorder("jo", "update.i", "ji", "l").pack("b", at="jo")
    allocation = r"call i64 @\"?llvm.smul.fix.sat.i64\"?\(i64 %\S+, i64 %\S+, i32 0\)"
    assert re.search(allocation, module(schedule.parallel("jo")))
    assert not re.search(allocation, module(schedule))


def test_hot_loops_are_those_of_one_thread() -> None:
    """The registers that hold the tile are the region's; nothing is spilled."""
    schedule = (
        Schedule(kernels.matmul(64, 64, 64, dtype=f32))
        .split("update.i", 4)
        .split("update.j", 32)
        .reorder("io", "jo", "l", "ii", "ji")
        .promote("c", at="jo", lanes=16)
        .vectorize("ji", 16)
        .unroll("ii", "ji")
        .parallel("io")
    )
    text = emit_assembly(module(schedule), MACHINE)
    assert text.count("vfmadd231ps") == 8
    assert "Spill" not in text
