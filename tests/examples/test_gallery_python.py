"""The gallery in Python: each text gives the bits of the C text, run by Python and as a kernel."""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.python.decorator import PythonKernel
from polysched.frontends.scop import load_c
from tests.frontends.scop.calling import called, compiled_by_gcc, needs_gcc, random_arguments
from tests.support.effort import sampled

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
TEXTS = sorted(path.stem for path in GALLERY.glob("*.py"))
COMPILED = sampled(TEXTS, 2)
"""Texts that are compiled; Python runs the others too."""
LARGEST = 9
"""Of the sizes."""


def function(name: str) -> PythonKernel:
    """The kernel that a file of the gallery defines, of the file's name."""
    specification = importlib.util.spec_from_file_location(name, GALLERY / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    found = getattr(module, name)
    assert isinstance(found, PythonKernel)
    return found


def test_every_program_has_both_texts() -> None:
    assert sorted(path.stem for path in GALLERY.glob("*.c")) == TEXTS


@needs_gcc
@pytest.mark.parametrize("name", TEXTS)
def test_all_texts_give_the_same_bits(name: str, tmp_path: Path) -> None:
    kernel = function(name)
    source = GALLERY / f"{name}.c"
    program = load_c(source)
    assert sorted(kernel.parameters) == sorted(program.kernel.parameters)
    # Sizes that differ, the first ones the largest.
    sizes = {one: LARGEST - at for at, one in enumerate(program.kernel.parameters)}
    given = random_arguments(program, program.c_function(), sizes)
    expected = called(
        compiled_by_gcc(source, tmp_path), program.c_function(), program.result, given
    )

    names = inspect.signature(kernel.function).parameters
    arguments = {one: np.copy(given[one]) for one in names if one not in sizes}
    with np.errstate(all="ignore"):
        kernel.python(**{one: _number(arguments.get(one, sizes.get(one))) for one in names})
    _assert_same(arguments, expected)

    if name not in COMPILED:
        return
    arguments = {one: np.copy(given[one]) for one in names if one not in sizes}
    ps.Schedule(replace(kernel, fp_contract=False)).compile()(**arguments, **sizes)
    _assert_same(arguments, expected)


def _number(value: Any) -> Any:
    """What Python is given: an array of no dimensions as a number."""
    return value[()] if isinstance(value, np.ndarray) else value


def _assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name, strict=True)
