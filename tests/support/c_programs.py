"""Exported kernels called by a program in C, which reads its arrays from a file.

The program gets the arrays at the first address that their element's alignment allows, between
guard bytes, and has no Python.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from polysched.fuzz.judge.machine import GUARD_BYTE, placed
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.strides import concrete_strides, elements_spanned
from polysched.ir.expr.dtypes import u8
from polysched.ir.semantics.memory import AnyArray
from polysched.ir.semantics.reference import run_reference
from polysched.loops.printers.c_helpers import c_type
from polysched.lower import export
from polysched.schedule.schedule import Schedule
from tests.support.differential import arguments, assert_equal

WARNINGS = "-Wall -Wextra -Werror -pedantic".split()
GUARD = 192

_MAIN = """\
#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *memory(size_t bytes, size_t element)
{
    unsigned char *block = (unsigned char *)aligned_alloc(64, (bytes + 2 * GUARD + 127) / 64 * 64);
    memset(block, GUARD_BYTE, bytes + 2 * GUARD);
    return block + element;
}

static int is_intact(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (bytes[i] != GUARD_BYTE)
            return 0;
    return 1;
}

int main(int count, char **files)
{
    FILE *in = fopen(files[1], "rb"), *out = fopen(files[2], "wb");
    int status;
    if (count != 3 || in == NULL || out == NULL)
        return 100;
CALL
    fclose(in);
    return fclose(out) ? 101 : status;
}
"""


def compiler(name: str = "cc") -> str:
    """The path of a compiler; without it the test is skipped."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs a compiler named {name}")
    return path


def build(*arguments: object) -> None:
    """Run a compiler; fail if it prints anything."""
    done = subprocess.run(
        [str(argument) for argument in arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def main_text(schedule: Schedule, called: Mapping[str, AnyArray], sizes: Mapping[str, int]) -> str:
    """A program that reads all arrays, calls the kernel and writes all arrays, guards checked."""
    kernel = schedule.kernel
    lines = []
    for name, array in called.items():
        declared = kernel.arrays[name]
        kind = c_type(u8 if declared.is_packed else declared.dtype)
        start = GUARD // 2 + array.itemsize
        lines += [
            f"unsigned char *{name}_bytes = memory({array.nbytes}, {start});",
            f"{kind} *{name} = ({kind} *)(void *){name}_bytes;",
            f"if (fread({name}, 1, {array.nbytes}, in) != {array.nbytes}) return 102;",
        ]
    values = [*called, *(f"INT64_C({sizes[name]})" for name in kernel.parameters)]
    lines.append(f"status = {kernel.name}({', '.join(values)});")
    for name, array in called.items():
        behind = 2 * GUARD - (GUARD // 2 + array.itemsize)
        start = GUARD // 2 + array.itemsize
        lines += [
            f"if (fwrite({name}, 1, {array.nbytes}, out) != {array.nbytes}) return 103;",
            f"if (!is_intact({name}_bytes - {start}, {start})) return 104;",
            f"if (!is_intact({name}_bytes + {array.nbytes}, {behind})) return 105;",
            f"free({name}_bytes - {start});",
        ]
    text = _MAIN.replace("CALL", "\n".join(f"    {line}" for line in lines))
    return text.replace("GUARD_BYTE", str(GUARD_BYTE)).replace("GUARD", str(GUARD))


def in_memory(
    kernel: Kernel, called: Mapping[str, AnyArray], sizes: Mapping[str, int]
) -> dict[str, AnyArray]:
    """The memory of the arrays: with strides in one dimension, guard bytes between the elements."""
    lying = {}
    for name, array in called.items():
        declared = kernel.arrays[name]
        lying[name] = array
        if declared.strides is not None:
            strides = concrete_strides(declared, array.shape, sizes)
            place = placed(array, strides)
            length = elements_spanned(array.shape, strides) * array.itemsize
            lying[name] = place.memory[place.start : place.start + length].view(array.dtype)
    return lying


def compiled_program(
    schedule: Schedule,
    folder: Path,
    *,
    suffix: str = ".o",
    sizes: Mapping[str, int] | None = None,
    options: tuple[str, ...] = ("-lm",),
    guard: bool = False,
    machine: str | None = None,
) -> Path:
    """The path of a program that calls the exported kernel."""
    tool = compiler()
    code = folder / f"kernel{suffix}"
    export(schedule, code, header=folder / "kernel.h", guard=guard, machine=machine)
    sizes = sizes or {}
    source, program = folder / "main.c", folder / "main"
    called = arguments(schedule.kernel, sizes)
    text = main_text(schedule, in_memory(schedule.kernel, called, sizes), sizes)
    source.write_text(text, encoding="utf-8")
    # POSIX and C11 for aligned_alloc: the header itself is C99.
    build(tool, "-std=c11", *WARNINGS, "-O1", source, code, "-o", program, *options)
    return program


def run_program(
    program: Path, called: Mapping[str, AnyArray], environment: Mapping[str, str] | None = None
) -> tuple[int, dict[str, AnyArray]]:
    """The status of the kernel, and all arrays after it."""
    given, result = program.parent / "arrays.in", program.parent / "arrays.out"
    given.write_bytes(b"".join(array.tobytes() for array in called.values()))
    done = subprocess.run([program, given, result], env=environment or {}, check=False, timeout=60)
    content, got = result.read_bytes(), {}
    for name, array in called.items():
        taken, content = content[: array.nbytes], content[array.nbytes :]
        got[name] = np.frombuffer(taken, array.dtype).reshape(array.shape)
    assert not content
    return done.returncode, got


def assert_program_agrees(
    schedule: Schedule,
    folder: Path,
    *,
    suffix: str = ".o",
    sizes: Mapping[str, int] | None = None,
    options: tuple[str, ...] = ("-lm",),
    guard: bool = False,
    rounding: float = 0.0,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Fail unless the exported kernel computes what the declared one does."""
    folder.mkdir(exist_ok=True)
    program = compiled_program(
        schedule, folder, suffix=suffix, sizes=sizes, options=options, guard=guard
    )
    called = arguments(schedule.kernel, sizes or {})
    expected = run_reference(schedule.kernel, called, sizes or {})
    lying = in_memory(schedule.kernel, called, sizes or {})
    status, got = run_program(program, lying, environment)
    assert status == 0
    wanted = in_memory(schedule.kernel, {**called, **expected}, sizes or {})
    assert_equal(got, wanted, f"{suffix} at {sizes}", rounding)
