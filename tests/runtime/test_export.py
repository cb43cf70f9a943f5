"""Exported kernels: what is written, and that programs in C can call it."""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import MachineError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import ALL_DTYPES, DType, boolean, f32, f64
from polysched.ir.expr.functions import exp
from polysched.legality.verdicts.verdict import IllegalScheduleError
from polysched.llvm.export.c_interface import ExportedProgram
from polysched.lower import export, lower
from polysched.machine.detect import detect_host
from polysched.machine.load import load_machine
from polysched.runtime import export as exporting
from polysched.runtime.export import export_files, write_export
from polysched.schedule.schedule import Schedule
from tests.support import indirect, kernels, packed_kernels, strided
from tests.support.c_programs import (
    assert_program_agrees,
    build,
    compiled_program,
    compiler,
    run_program,
)
from tests.support.differential import arguments
from tests.support.effort import covering

FAST = Schedule(kernels.scale()).vectorize("i", 16)
THREADED = Schedule(kernels.grid()).parallel("i").vectorize("j", 8)


def needs_x86() -> None:
    if not detect_host().triple.startswith("x86_64"):
        pytest.skip("code for x86-64")


@covering(1, suffix=[".o", ".so", ".s", ".c"], size=[0, 1, 1000])
def test_each_kind_of_code_computes_what_the_kernel_says(
    suffix: str, size: int, tmp_path: Path
) -> None:
    assert_program_agrees(FAST, tmp_path, suffix=suffix, sizes={"n": size})


def test_llvm_text_is_whole(tmp_path: Path) -> None:
    export(FAST, tmp_path / "a.ll", machine="skylake-avx512")
    text = (tmp_path / "a.ll").read_text()
    assert "define i32 @scale(ptr %x, ptr %y, i64 %n)" in text
    assert "define internal i32 @scale.kernel(" in text
    assert '"target-cpu"="skylake-avx512"' in text
    assert 'target triple = "x86_64-unknown-linux-gnu"' in text


def scaled(dtype: DType) -> Kernel:
    """``y = x + x`` or, of truth values, ``x and x``."""
    make = KernelBuilder("scaled")
    n = make.parameter("n", minimum=1)
    x, y = make.input("x", dtype, (n,)), make.inout("y", dtype, (n,))
    with make.loops(i=n) as i:
        y[i] = x[i] & x[i] if dtype is boolean else x[i] + y[i]
    return make.kernel()


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_element_types(dtype: DType, tmp_path: Path) -> None:
    schedule = Schedule(scaled(dtype)).vectorize("i", 16)
    assert_program_agrees(schedule, tmp_path, sizes={"n": 37})


def test_no_parameters_and_arrays_without_dimensions(tmp_path: Path) -> None:
    make = KernelBuilder("total")
    x, result = make.input("x", f64, (7,)), make.output("result", f64, ())
    with make.statement("zero"):
        result[()] = 0
    with make.loops(i=7) as i, make.statement("add"):
        result[()] += x[i]
    assert_program_agrees(Schedule(make.kernel()), tmp_path)


def test_values_from_the_mathematical_library(tmp_path: Path) -> None:
    make = KernelBuilder("growth")
    n = make.parameter("n")
    x, y = make.input("x", f32, (n,)), make.output("y", f32, (n,))
    with make.loops(i=n) as i:
        y[i] = exp(x[i])
    schedule = Schedule(make.kernel()).vectorize("i", 16)
    for suffix in (".o", ".so"):
        folder = tmp_path / suffix[1:]
        assert_program_agrees(schedule, folder, suffix=suffix, sizes={"n": 35}, rounding=1e-6)


def test_subscripts_that_depend_on_data(tmp_path: Path) -> None:
    assert_program_agrees(Schedule(indirect.gather()), tmp_path, sizes={"n": 20, "m": 5})
    assert "0 <= value < m for every value in idx" in (tmp_path / "kernel.h").read_text()


def packed() -> Schedule:
    """A product whose packed operand needs memory from the heap."""
    schedule = Schedule(kernels.matmul(dtype=f32)).split("update.j", 64)
    return schedule.reorder("jo", "update.i", "ji", "l").pack("b", at="jo")


@pytest.mark.parametrize("suffix", [".o", ".so", ".c"])
def test_buffers_on_the_heap(suffix: str, tmp_path: Path) -> None:
    assert_program_agrees(packed(), tmp_path, suffix=suffix, sizes={"m": 5, "n": 100, "k": 70})


def hungry() -> Kernel:
    make = KernelBuilder("hungry")
    n = make.parameter("n", minimum=1)
    large, y = make.temporary("large", f32, (n, n)), make.output("y", f32, ())
    with make.loops(i=n) as i, make.statement("fill"):  # else compilers do without the array
        large[i, 0] = 1.0
    with make.statement("use"):
        y[()] = large[n - 1, 0]
    return make.kernel()


@pytest.mark.parametrize("suffix", [".o", ".c"])
def test_no_memory(suffix: str, tmp_path: Path) -> None:
    schedule = Schedule(hungry())
    program = compiled_program(schedule, tmp_path, suffix=suffix, sizes={"n": 1 << 30})
    given = {"y": np.array(7, np.float32)}
    status, got = run_program(program, given)
    assert status == 1
    assert got["y"] == 7


@pytest.mark.parametrize("suffix", [".o", ".so", ".c"])
@pytest.mark.parametrize("gap", [0, 3])
def test_leading_dimensions(suffix: str, gap: int, tmp_path: Path) -> None:
    """A program passes parts of larger matrices; what is between their rows stays as it is."""
    schedule = Schedule(strided.product(accumulate=True)).vectorize("j", 8)
    sizes = {"m": 3, "n": 19, "terms": 7, "lda": 7 + gap, "ldb": 7 + gap, "ldc": 19 + gap}
    assert_program_agrees(schedule, tmp_path, suffix=suffix, sizes=sizes)


def test_guard(tmp_path: Path) -> None:
    """Legal where the distance is at least the vector's length: otherwise the plain loop runs."""
    make = KernelBuilder("shifted")
    n, d = make.parameter("n", minimum=1), make.parameter("d", minimum=1)
    a = make.inout("a", f32, (n + d,))
    with make.loops(i=n) as i:
        a[i + d] = a[i] + 1
    schedule = Schedule(make.kernel()).vectorize("i", 8)
    with pytest.raises(IllegalScheduleError):
        export(schedule, tmp_path / "a.o")
    for distance in (1, 7, 8, 20):
        folder = tmp_path / str(distance)
        assert_program_agrees(schedule, folder, sizes={"n": 50, "d": distance}, guard=True)


@pytest.mark.parametrize(
    ("suffix", "options"),
    [(".o", ("-fopenmp",)), (".o", ("-lgomp",)), (".so", ()), (".c", ("-lm",))],
)
def test_parallel_loops(suffix: str, options: tuple[str, ...], tmp_path: Path) -> None:
    for threads in (1, 3):
        assert_program_agrees(
            THREADED,
            tmp_path / str(threads),
            suffix=suffix,
            sizes={"n": 11, "m": 13},
            options=options,
            environment={"OMP_NUM_THREADS": str(threads)},
        )


def test_private_buffers_of_parallel_loops(tmp_path: Path) -> None:
    schedule = packed().parallel("jo")
    assert_program_agrees(
        schedule,
        tmp_path,
        sizes={"m": 3, "n": 300, "k": 40},
        options=("-fopenmp",),
        environment={"OMP_NUM_THREADS": "2"},
    )


def test_parallel_code_runs_on_several_threads(tmp_path: Path) -> None:
    """The threads of the runtime are those that the program asks for."""
    needs_x86()
    export(THREADED, tmp_path / "kernel.o", header=tmp_path / "kernel.h")
    (tmp_path / "main.c").write_text(
        """
#include "kernel.h"
#include <stdio.h>
static int most;
static void note(void (*work)(void *), void *task, unsigned threads, unsigned flags)
{
    (void)flags;
    most = (int)threads;
    for (unsigned i = 0; i < threads; ++i)
        work(task);
}
void GOMP_parallel(void (*work)(void *), void *task, unsigned threads, unsigned flags);
void GOMP_parallel(void (*work)(void *), void *task, unsigned threads, unsigned flags)
{
    note(work, task, threads, flags);
}
int omp_get_max_threads(void);
int omp_get_max_threads(void) { return 5; }
int main(void)
{
    static int32_t x[80], y[80];
    int status = grid(x, y, 8, 10);
    printf("%d %d %d", status, most, (int)y[79]);
    return 0;
}
""",
        encoding="utf-8",
    )
    program = tmp_path / "main"
    build(compiler(), "-Wall", "-Werror", tmp_path / "main.c", tmp_path / "kernel.o", "-o", program)
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert told == "0 5 79"


def test_nothing_of_python_is_linked(tmp_path: Path) -> None:
    for schedule, options in ((FAST, ()), (THREADED, ("-fopenmp",))):
        folder = tmp_path / schedule.kernel.name
        folder.mkdir()
        sizes = dict.fromkeys(schedule.kernel.parameters, 3)
        program = compiled_program(schedule, folder, suffix=".so", sizes=sizes, options=options)
        for file in (program, folder / "kernel.so"):
            linked = subprocess.run(["ldd", file], capture_output=True, text=True, check=False)
            assert "libpython" not in linked.stdout
            assert "not found" not in linked.stdout
    plain = subprocess.run(
        ["ldd", tmp_path / "scale" / "kernel.so"], capture_output=True, text=True, check=False
    )
    assert "gomp" not in plain.stdout


def supported(folder: Path, machine: str) -> str:
    """What a program says that asks before it calls, and once more after that."""
    folder.mkdir()
    export(FAST, folder / "kernel.o", header=folder / "kernel.h", machine=machine)
    (folder / "main.c").write_text(
        """
#include "kernel.h"
#include <stdio.h>
int main(int count, char **texts)
{
    int32_t x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
    (void)texts;
    if (count > 1)
        printf("%d ", scale_supported());
    printf("%d ", scale(x, y, 3));
    printf("%d %d ", scale(x, y, 3), scale_supported());
    printf("%d %d %d", (int)y[0], (int)y[1], (int)y[2]);
    return 0;
}
""",
        encoding="utf-8",
    )
    program = folder / "main"
    build(compiler(), folder / "main.c", folder / "kernel.o", "-o", program)
    last = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    first = subprocess.run([program, "1"], capture_output=True, text=True, check=True).stdout
    assert first == f"{last.split()[2]} {last}"
    return last


@pytest.mark.parametrize(
    "machine", ["generic", "haswell-avx2", "skylake-avx512", "sapphirerapids", "znver5"]
)
def test_code_refuses_processors_that_it_is_not_for(machine: str, tmp_path: Path) -> None:
    needs_x86()
    missing = set(load_machine(machine).missing_on(detect_host()))
    # The code does not use these, so it does not ask for them.
    missing -= {"amx-tile", "amx-bf16", "amx-int8", "vaes", "vpclmulqdq"}
    said = supported(tmp_path / machine, machine)
    assert said == ("2 2 0 0 0 0" if missing else "0 0 1 3 5 7")


def test_processors_that_lack_something_are_told(tmp_path: Path) -> None:
    needs_x86()
    if detect_host().has("avx512fp16"):
        pytest.skip("the host has what is to be missing")
    assert supported(tmp_path / "a", "sapphirerapids") == "2 2 0 0 0 0"


def test_c_text_is_always_supported(tmp_path: Path) -> None:
    export(FAST, tmp_path / "a.c")
    assert "int scale_supported(void)\n{\n    return 1;\n}\n" in (tmp_path / "a.c").read_text()


def test_objects_fit_into_position_independent_programs(tmp_path: Path) -> None:
    """The linker does not even warn, as it does of writable code and executable stacks."""
    tool = compiler()
    export(packed().parallel("jo"), tmp_path / "kernel.o")
    for kind in ("-shared", "-pie"):
        entry = tmp_path / "entry.c"
        entry.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        flags = ("-fPIC", "-fopenmp", "-Wl,--fatal-warnings", "-Wl,-z,text", kind)
        build(tool, *flags, entry, tmp_path / "kernel.o", "-o", tmp_path / f"out{kind}")


def test_two_exported_kernels_in_one_program(tmp_path: Path) -> None:
    tool = compiler()
    export(THREADED, tmp_path / "a.o", header=tmp_path / "a.h")
    export(FAST.parallel("i"), tmp_path / "b.o", header=tmp_path / "b.h")
    (tmp_path / "main.c").write_text(
        '#include "a.h"\n#include "b.h"\n'
        "int main(void) { return !(scale_supported() + grid_supported() + 1); }\n",
        encoding="utf-8",
    )
    objects = [tmp_path / name for name in ("main.c", "a.o", "b.o")]
    build(tool, *objects, "-fopenmp", "-o", tmp_path / "main")


def test_code_for_another_architecture(tmp_path: Path) -> None:
    foreign = replace(load_machine("generic"), triple="aarch64-unknown-linux-gnu")
    with pytest.raises(
        MachineError, match="cannot query the features of its processor; .* begins with 'x86_64'"
    ):
        export(FAST, tmp_path / "a.o", machine=foreign)
    export(FAST, tmp_path / "a.c", machine=foreign)
    assert os.listdir(tmp_path) == ["a.c"]


def test_on_a_host_of_another_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = replace(detect_host(), triple="aarch64-unknown-linux-gnu")
    monkeypatch.setattr(exporting, "detect_host", lambda: foreign)
    with pytest.raises(MachineError, match="can be assembled on an x86_64 host only"):
        export(FAST, tmp_path / "a.o", machine="generic")
    assert not os.listdir(tmp_path)


def test_the_same_text_each_time(tmp_path: Path) -> None:
    paths = [tmp_path / "a.o", tmp_path / "b.o"]
    for path in paths:
        write_export(ExportedProgram(lower(FAST)), detect_host(), export_files(path))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def headers(path: Path) -> Iterable[str]:
    schedules = {"plain": FAST, "threaded": THREADED, "bits": Schedule(scaled(boolean))}
    for name, schedule in schedules.items():
        export(schedule, path / f"{name}.o", header=path / f"{name}.h")
        yield f"{name}.h"


@pytest.mark.parametrize(
    ("tool", "language"), [("cc", "c99"), ("cc", "c17"), ("c++", "c++11"), ("c++", "c++20")]
)
def test_headers_are_c_and_cpp(tool: str, language: str, tmp_path: Path) -> None:
    command = compiler(tool)
    suffix = ".cpp" if tool == "c++" else ".c"
    source = tmp_path / f"use{suffix}"
    text = "".join(f'#include "{name}"\n#include "{name}"\n' for name in headers(tmp_path))
    source.write_text(f"{text}int main(void) {{ return grid_supported() > 1; }}\n")
    flags = (f"-std={language}", "-Wall", "-Wextra", "-Werror", "-pedantic")
    objects = [tmp_path / f"{name}.o" for name in ("plain", "threaded", "bits")]
    build(command, *flags, source, *objects, "-fopenmp", "-o", tmp_path / "use")
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0


def test_a_call_asks_the_processor_once(tmp_path: Path) -> None:
    """The entry looks at one number and calls; the questions are in the other function."""
    export(FAST, tmp_path / "a.s", machine="znver5")
    text = (tmp_path / "a.s").read_text()
    entry = text[text.index("\nscale:") :].split(".Lfunc_end")[0]
    assert "cpuid" not in entry
    assert "zmm" not in entry
    question = text[text.index("\nscale_supported:") :].split(".Lfunc_end")[0]
    assert question.count("\tcpuid\n") >= 2
    assert question.count("\txgetbv\n") == 1
    assert "zmm" not in question


def test_arguments_of_the_program_are_its_own(tmp_path: Path) -> None:
    """The harness itself: an array that the kernel does not write comes back as it was."""
    program = compiled_program(FAST, tmp_path, sizes={"n": 5})
    called = arguments(FAST.kernel, {"n": 5})
    status, got = run_program(program, called)
    assert status == 0
    np.testing.assert_array_equal(got["x"], called["x"])


@pytest.mark.parametrize("suffix", [".o", ".so"])
def test_packed_integers(suffix: str, tmp_path: Path) -> None:
    schedule = Schedule(packed_kernels.halves("i5", "padded")).vectorize("j", 8)
    assert_program_agrees(schedule, tmp_path, suffix=suffix, sizes={"n": 5, "m": 19})
    header = (tmp_path / "kernel.h").read_text(encoding="utf-8")
    assert "int halves(const uint8_t *w, uint8_t *v, int64_t n, int64_t m);" in header
