"""Every feature of C against gcc: the same bits, from an object with the same signature."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from polysched.frontends.scop import CProgram, load_c
from polysched.ir.core.kernel import Role
from polysched.ir.semantics.reference import run_reference
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import (
    assert_same_bits,
    called,
    compiled_by_gcc,
    compiled_by_polysched,
    needs_gcc,
    random_arguments,
)
from tests.support.effort import sampled

FEATURES = Path(__file__).parent / "programs" / "features.c"
FUNCTIONS = re.findall(r"^(?:void|double) (\w+)\(", FEATURES.read_text(), re.MULTILINE)
SIZES = (
    {"n": 11, "m": 7, "k": 5, "b": -3},
    {"n": 1, "m": 2, "k": 0, "b": 4},
    {"n": 6, "m": 9, "k": -2, "b": 0},
)

pytestmark = needs_gcc


@pytest.fixture(scope="module")
def by_gcc(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled_by_gcc(FEATURES, tmp_path_factory.mktemp("gcc"))


@cache
def read(name: str) -> CProgram:
    return load_c(FEATURES, name)


def test_there_are_many_functions() -> None:
    assert len(FUNCTIONS) >= 20


@pytest.mark.parametrize("name", FUNCTIONS)
def test_object_gives_the_bits_of_gcc(name: str, by_gcc: ctypes.CDLL, tmp_path: Path) -> None:
    program = read(name)
    function = program.c_function()
    library = compiled_by_polysched(Schedule(program.kernel), function, tmp_path)
    result = None if program.result is None else program.kernel.arrays[program.result].dtype
    for seed, sizes in enumerate(SIZES):
        given = random_arguments(program, function, sizes, seed)
        mine = called(library, function, result, given)
        assert_same_bits(mine, called(by_gcc, function, result, given))


@pytest.mark.parametrize("name", sampled(FUNCTIONS, 2))
def test_reference_gives_the_bits_of_gcc(name: str, by_gcc: ctypes.CDLL) -> None:
    program = read(name)
    function = program.c_function()
    result = None if program.result is None else program.kernel.arrays[program.result].dtype
    given = random_arguments(program, function, SIZES[0], 7)
    theirs = called(by_gcc, function, result, given)
    kernel = program.kernel
    arrays = {
        name: given[name]
        for name, array in kernel.arrays.items()
        if array.role is not Role.TEMPORARY and name in given
    }
    mine = run_reference(kernel, arrays, {one: SIZES[0][one] for one in kernel.parameters})
    for array, value in mine.items():
        expected = theirs["returned"] if array == program.result else theirs[array]
        np.testing.assert_array_equal(value, expected, err_msg=array)
