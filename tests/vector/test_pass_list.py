"""The list of passes: what each leaves, and that no pass changes what a program computes."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.ir.core.tree import LoopKind
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.loops.ir.nodes import For, LoopProgram, walk
from polysched.lower import STAGES, lower
from polysched.machine.presets import PRESETS
from polysched.vector.interpret import interpreter
from polysched.vector.pass_list import PASSES, AnyProgram, loops_after, run_passes, vector_program
from polysched.vector.verify import verify
from tests.support.differential import assert_equal
from tests.support.interpreting import interpret

VNNI = PRESETS["sapphirerapids"]
N = 16


def add_search(build: ps.KernelBuilder, line: ArrayHandle) -> None:
    """Find the first number above 3, by a loop that ends there."""
    flag, first = build.temporary("flag", ps.i32, ()), build.output("first", ps.i64, ())
    is_found = build.temporary("is_found", ps.boolean, ())
    first[()] = -1
    flag[()] = 0
    with build.loops(h=40) as h:
        is_found[()] = ps.equal(flag[()], 0) & (line[h] > 3)
        first[()] = ps.select(is_found[()], h, first[()])
        flag[()] = ps.select(is_found[()], 1, flag[()])


@pytest.fixture(scope="module")
def loops() -> LoopProgram:
    """A kernel in which every pass has work: an accumulator, groups of terms, tiles."""
    build = ps.KernelBuilder("all_passes")
    x, y = build.input("x", ps.u8, (N, 4)), build.input("y", ps.i8, (N, N, 4))
    given, turned = build.input("given", ps.i32, (N, N)), build.output("turned", ps.i32, (N, N))
    total = build.inout("total", ps.i32, (N,))
    with build.loops(q=N, i=N, t=4) as (q, i, t), build.statement("sum", order="any"):
        total[i] += ps.cast(x[q, t], ps.i32) * ps.cast(y[q, i, t], ps.i32)
    with build.loops(r=N, c=N) as (r, c), build.statement("turn"):
        turned[r, c] = given[c, r]
    line, small = build.input("line", ps.f64, (40,)), build.input("small", ps.u8, (N,))
    sums, least = build.output("sums", ps.f64, (13,)), build.output("least", ps.u8, (N,))
    with build.loops(s=13) as s, build.statement("neighbors"):
        sums[s] = line[s] + line[s + 1] + line[2 * s]
    with build.loops(b=N) as b, build.statement("least"):
        wide = ps.cast(small[b], ps.i32)
        least[b] = ps.cast(ps.minimum(wide, 9), ps.u8)
    rows, columns = build.input("rows", ps.f32, (40, 13)), build.inout("columns", ps.f32, (13,))
    with build.loops(k=40, j=13) as (k, j), build.statement("rows", order="any"):
        columns[j] += rows[k, j]
    with build.loops(e=(1, 13)) as e, build.statement("recurrence"):
        sums[e] = sums[e] + sums[e - 1]
    ways, path = build.input("ways", ps.i32, (13,)), build.inout("path", ps.i32, (14,))
    with build.loops(w=13) as w, build.statement("path"):
        path[w + 1] = ps.minimum(ps.minimum(path[w] + 1, ways[w]), ways[w] - 9)
    pairs, seen = build.output("pairs", ps.f64, (N, 2)), build.output("seen", ps.i32, (N,))
    with build.loops(p=N) as p:
        pairs[p, 0] = line[p]
        pairs[p, 1] = line[p + 1]
    byte = build.input("byte", ps.u8, (N,), values=(0, 256))
    table = build.input("table", ps.i32, (256,))
    with build.loops(z=N) as z:
        seen[z] = table[byte[z]]
    reverse = build.output("reverse", ps.f64, (N,))
    with build.loops(d=(N - 1, -1, -1)) as d:
        reverse[d] = line[d]
    corner = build.inout("corner", ps.f64, (6, 2, 2))
    with build.loops(w=6, term=4, row=2) as (w, term, row), build.loops(column=w % 3) as column:
        corner[w, row, column] += line[term]
    squares, ends = build.output("squares", ps.i32, (N, N)), build.input("ends", ps.i64, (6,))
    with build.loops(v=6, at=40) as (v, at), build.statement("segments"):
        corner[v, 0, 0] = ps.select(at < ends[v], corner[v, 0, 0] + line[at], corner[v, 0, 0])
    add_search(build, line)
    with build.loops(m=N, n=N) as (m, n), build.statement("clear"):
        squares[m, n] = 0
    schedule = ps.Schedule(build.kernel()).vectorize("i", N).unroll("t")
    schedule = schedule.vectorize("n", N).reorder("n", "m", "nv").tensorize("m", "tilezero")
    schedule = schedule.vectorize("p", 8).vectorize("z", N).vectorize("d", 8)
    schedule = schedule.tensorize("iv", "vpdpbusd").vectorize("s", 8).vectorize("j", 16)
    schedule = schedule.vectorize("b", N).vectorize("c", N).unroll("r")
    schedule = schedule.unroll("row").unroll("column")
    return lower(schedule.transpose("cv", "r"))


def given() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {
        "x": random.integers(0, 256, (N, 4), np.uint8),
        "y": random.integers(-128, 128, (N, N, 4), np.int8),
        "given": random.integers(-9, 9, (N, N), np.int32),
        "total": random.integers(-9, 9, N, np.int32),
        "line": random.integers(-9, 9, 40).astype(np.float64),
        "ways": random.integers(-9, 9, 13, np.int32),
        "path": random.integers(-9, 9, 14, np.int32),
        "small": random.integers(0, 99, N, np.uint8),
        "rows": random.integers(-9, 9, (40, 13)).astype(np.float32),
        "byte": random.integers(0, 256, N, np.uint8),
        "table": random.integers(-999, 999, 256, np.int32),
        "corner": random.integers(-9, 9, (6, 2, 2)).astype(np.float64),
        "ends": np.array([0, 9, 7, 40, -3, 99]),
        "columns": random.integers(-9, 9, 13).astype(np.float32),
    }


def results(program: AnyProgram) -> dict[str, np.ndarray]:
    if isinstance(program, LoopProgram):
        return interpret(program, given(), {})
    verify(program)
    return interpreter(program)(given(), {})


@pytest.mark.parametrize("name", [one.name for one in PASSES])
def test_a_pass_changes_the_program_and_not_its_result(name: str, loops: LoopProgram) -> None:
    names = [one.name for one in PASSES]
    before: AnyProgram = loops
    if name != names[0]:
        before = run_passes(loops, VNNI, last=names[names.index(name) - 1])
    after = run_passes(loops, VNNI, last=name)
    assert after.body != before.body
    assert_equal(results(after), results(loops), name)


def test_no_unrolled_loop_is_left(loops: LoopProgram) -> None:
    unrolled = loops_after(loops, VNNI, "unroll")
    kinds = [node.kind for node in walk(unrolled.body) if isinstance(node, For)]
    assert kinds
    assert LoopKind.UNROLLED not in kinds


def test_the_arrays_in_registers_are_named(loops: LoopProgram) -> None:
    assert not loops.registers
    promoted = loops_after(loops, VNNI, "promote").registers
    tiled = loops_after(loops, VNNI, "transpose-tiles")
    assert set(promoted) < set(tiled.registers) < set(tiled.arrays)
    joined = {"pairs_joined0"}
    assert set(vector_program(loops, VNNI).frame.registers) == {*tiled.registers, *joined}


def test_every_pass_is_a_stage_between_the_loops_and_llvm() -> None:
    stages, names = list(STAGES), [one.name for one in PASSES]
    start = stages.index(names[0])
    assert stages[start : start + len(names)] == names
    assert stages.index("loops") < start < stages.index("llvm")
