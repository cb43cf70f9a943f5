import re
from dataclasses import replace

import pytest

from polysched.errors import ExportError
from polysched.llvm.export.c_interface import ExportedProgram, emit_exported_module
from polysched.lower import lower
from polysched.machine.cpuid import checkable
from polysched.machine.load import load_machine
from polysched.runtime.jit import emit_assembly
from polysched.schedule.schedule import Schedule
from tests.support import kernels

MACHINE = checkable(load_machine("skylake-avx512"))


def module(schedule: Schedule) -> str:
    return emit_exported_module(ExportedProgram(lower(schedule)), MACHINE)


def heads(text: str) -> dict[str, str]:
    """What stands before and behind the name of every function that a module defines."""
    found = re.findall(r"^define (.*)@\"?([\w.]+)\"?(\(.*)", text, re.MULTILINE)
    return {name: before + after for before, name, after in found}


def body(text: str, name: str) -> str:
    return text[text.index(f'@"{name}"(') :].split("\n}\n", maxsplit=1)[0]


def test_only_the_interface_can_be_seen() -> None:
    found = heads(module(Schedule(kernels.jacobi()).parallel("there.i").parallel("back.i")))
    seen = [name for name, head in found.items() if "internal" not in head]
    assert seen == ["jacobi_supported", "jacobi"]
    assert {"jacobi.kernel", "jacobi.kernel.region0", "jacobi.kernel.region1.work"} <= found.keys()


def test_only_the_kernel_is_for_the_machine() -> None:
    found = heads(module(Schedule(kernels.scale()).parallel("i")))
    for name, head in found.items():
        cpu = "skylake-avx512" if name.startswith("scale.kernel") else "x86-64"
        assert f'"target-cpu"="{cpu}"' in head
    assert f'"target-features"="{MACHINE.features}"' in found["scale.kernel"]
    assert '"target-features"="+sse2"' in found["scale"]


def test_plain_arguments() -> None:
    assert heads(module(Schedule(kernels.grid())))["grid"].startswith(
        'i32 (ptr %"x", ptr %"y", i64 %"n", i64 %"m")'
    )


def test_no_team_without_parallel_loops() -> None:
    text = module(Schedule(kernels.grid()))
    assert "GOMP" not in text
    assert "omp_" not in text
    assert 'call i32 @"grid.kernel"(ptr %"x", ptr %"y", i64 %"n", i64 %"m")' in body(text, "grid")


def test_the_team_of_the_openmp_runtime() -> None:
    text = module(Schedule(kernels.grid()).parallel("i"))
    entry = body(text, "grid")
    assert 'call i32 @"omp_get_max_threads"()' in entry
    assert '@"GOMP_parallel"' in entry


def test_the_entry_asks_before_it_calls() -> None:
    text = module(Schedule(kernels.scale()))
    entry = body(text, "scale")
    first = text.split('define internal i32 @"scale.first"')[1].split("\n}\n")[0]
    assert entry.index("load atomic") < entry.index(".first") < entry.index(".kernel")
    assert first.index("_supported") < first.index('@"scale"') < first.index("ret i32 2")


def test_later_calls_save_no_registers() -> None:
    text = str(emit_assembly(module(Schedule(kernels.grid())), MACHINE))
    entry = text.split("\ngrid:")[1].split(".Lfunc_end", maxsplit=1)[0]
    assert "jmp" in entry
    assert "push" not in entry
    assert "call" not in entry


def test_names_of_the_runtime_are_taken() -> None:
    program = replace(lower(Schedule(kernels.scale()).parallel("i")), name="GOMP_parallel")
    with pytest.raises(ExportError, match="name of a function of the OpenMP runtime"):
        emit_exported_module(ExportedProgram(program), MACHINE)
