"""C functions called from Python, once as gcc compiles them and once as polysched does."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from polysched.frontends.scop import CProgram, load_c
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import DType
from polysched.ir.semantics.memory import AnyArray, concrete_shape
from polysched.llvm.export.c_function import CFunction
from polysched.lower import export
from polysched.schedule.schedule import Schedule

needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="there is no gcc to compare with"
)

# Each operation rounds by itself, as C says it: what the kernel does.
FLAGS = ("-O0", "-ffp-contract=off", "-fwrapv", "-shared", "-fPIC", "-w")


def compiled_by_gcc(source: Path, folder: Path, *options: str) -> ctypes.CDLL:
    """A C file as a shared library; options are added to the usual ones."""
    library = folder / f"{source.stem}.gcc.so"
    subprocess.run(["gcc", *FLAGS, *options, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def compiled_by_polysched(schedule: Schedule, function: CFunction, folder: Path) -> ctypes.CDLL:
    """A schedule as a shared library that defines the C function."""
    library = folder / f"{function.name}.polysched.so"
    # No limit in seconds: a busy machine must not decide whether a schedule compiles.
    export(schedule, library, c_function=function, seconds=0)
    return ctypes.CDLL(str(library))


def assert_rewritten_prints_the_same(
    text: str, folder: Path, regions: Mapping[str, int], *, has_object: bool = False
) -> None:
    """A program that ``polysched rewrite`` has rewritten prints what gcc's program prints.

    Args:
        text: the C program.
        folder: for the files.
        regions: how many regions of each function are replaced.
        has_object: whether their code is an object file, else C.
    """
    source, rewritten = folder / "program.c", folder / "rewritten.c"
    source.write_text(text)
    objects = [folder / "kernels.o"] if has_object else []
    options = [option for path in objects for option in ("--object", str(path))]
    # No limit in seconds: a busy machine must not decide which regions are found.
    command = ["rewrite", str(source), "-o", str(rewritten), "--seconds", "0", *options]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    for name, count in regions.items():
        assert result.output.count(f": {name} calls polysched_") == count, name
    assert printed([rewritten, *objects], folder / "polysched") == printed([source], folder / "gcc")


def printed(files: Sequence[Path], program: Path, *options: str) -> str:
    """What the program of some C files and objects prints."""
    flags = ("-w", "-O1", "-ffp-contract=off", "-fwrapv", *options)
    subprocess.run(["gcc", *flags, *map(str, files), "-o", str(program), "-lm"], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def random_arguments(
    program: CProgram, function: CFunction, sizes: Mapping[str, int], seed: int = 0
) -> dict[str, Any]:
    """Numbers, and arrays by name; small ones, so that conversions to integers are defined."""
    generator = np.random.default_rng(seed)
    given: dict[str, Any] = {}
    for argument in function.arguments:
        if argument.is_size:
            given[argument.name] = sizes[argument.name]
        elif argument.meaning is None:
            given[argument.name] = 0
        else:
            given[argument.name] = _random(generator, program.kernel, argument.meaning, sizes)
    return given


def _random(
    generator: np.random.Generator, kernel: Kernel, name: str, sizes: Mapping[str, int]
) -> AnyArray:
    array = kernel.arrays[name]
    shape = concrete_shape(
        array.shape, {one: sizes[one] for one in kernel.parameters if one in sizes}
    )
    dtype = array.dtype
    if dtype.is_float:
        return (generator.random(shape) * 4 - 2).astype(dtype.numpy())
    if not dtype.is_integer:
        return generator.integers(0, 2, shape).astype(np.bool_)
    lowest = -50 if dtype.is_signed else 0
    return generator.integers(lowest, 50, shape).astype(dtype.numpy())


def with_shared_memory(given: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Arguments whose arrays of one type are parts of one array, which overlap."""
    generator = np.random.default_rng(seed + 1000)
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    shared: dict[str, Any] = dict(given)
    for dtype in {value.dtype for value in arrays.values()}:
        names = [name for name, value in arrays.items() if value.dtype == dtype and value.size]
        if len(names) < 2:
            continue
        largest = max(arrays[name].size for name in names)
        source = np.concatenate([arrays[name].reshape(-1) for name in names])
        memory = generator.choice(source, largest + 8)
        for name in names:
            start = int(generator.integers(0, memory.size - arrays[name].size + 1))
            part = memory[start : start + arrays[name].size]
            shared[name] = part.reshape(arrays[name].shape)
    return shared


def _copied(given: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of arguments; parts of one array become parts of one copy of it."""
    bases: dict[int, AnyArray] = {}
    copies: dict[str, Any] = {}
    for name, value in given.items():
        base = value
        while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
            base = base.base
        if base is value or not isinstance(base, np.ndarray):
            copies[name] = np.copy(value, order="C")
            continue
        copy = bases.setdefault(id(base), base.copy())
        start = (value.ctypes.data - base.ctypes.data) // value.itemsize
        copies[name] = copy[start : start + value.size].reshape(value.shape)
    return copies


def called(
    library: ctypes.CDLL, function: CFunction, result: DType | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    """What arrays hold after a call with copies of them, and what the function returns."""
    copies = _copied(given)
    arguments = []
    for argument in function.arguments:
        value = copies[argument.name]
        if argument.is_pointer:
            is_array = isinstance(given[argument.name], np.ndarray)
            arguments.append(ctypes.c_void_p(value.ctypes.data if is_array else None))
        else:
            assert argument.dtype is not None
            arguments.append(c_type(argument.dtype)(value.item()))
    call = library[function.name]
    call.restype = None if result is None else c_type(result)
    returned = call(*arguments)
    return {**copies, "returned": returned}


def c_type(dtype: DType) -> Any:
    """The type that ctypes passes."""
    if dtype.is_float:
        return ctypes.c_float if dtype.bits == 32 else ctypes.c_double
    if not dtype.is_integer:
        return ctypes.c_bool
    return getattr(ctypes, f"c_{'' if dtype.is_signed else 'u'}int{dtype.bits}")


def assert_same_bits(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Bit for bit; all NaN are one."""
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name, strict=True)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            numbers = ~np.isnan(value)
            signs = np.signbit(value) == np.signbit(theirs[name])
            assert np.all(signs | ~numbers), name


def assert_as_gcc(text: str, name: str, folder: Path, *calls: tuple[Any, ...]) -> CProgram:
    """Call a function as gcc and as polysched compile it, on copies of the same bytes.

    Args:
        text: the C file.
        name: the function.
        folder: for the files.
        calls: the arguments of each call: arrays, of structs too, and numbers of ctypes.

    Returns:
        What was read.
    """
    source = folder / f"{name}.c"
    source.write_text(text)
    program = load_c(source, name)
    function = program.c_function()
    mine = compiled_by_polysched(Schedule(program.kernel), function, folder)
    theirs = compiled_by_gcc(source, folder)
    for arguments in calls:
        found = []
        for library in (mine, theirs):
            copies = _copied({str(at): value for at, value in enumerate(arguments)})
            passed = [
                ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else value
                for value in (
                    copy if isinstance(given, np.ndarray) else given
                    for given, copy in zip(arguments, copies.values(), strict=True)
                )
            ]
            call = library[name]
            result = None
            if function.result is not None:
                call.restype = c_type(program.kernel.arrays[function.result].dtype)
                result = call(*passed)
            else:
                call.restype = None
                call(*passed)
            arrays = [value for value in copies.values() if isinstance(value, np.ndarray)]
            found.append((result, [value.tobytes() for value in arrays]))
        assert found[0] == found[1]
    return program
