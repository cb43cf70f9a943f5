"""That ctypes and LLVM lay the memory of a door out alike."""

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from polysched.machine.load import load_machine
from polysched.machine.target import target_machine
from polysched.runtime.door_key import key_module
from polysched.runtime.door_table import (
    MOST_RANK,
    ArrayOfKind,
    Kind,
    given_array,
    new_array,
    table_of,
)
from polysched.runtime.numpy_memory import ALIGNED, WRITEABLE, Ndarray


@pytest.mark.parametrize(
    ("name", "structure"),
    [("ndarray", Ndarray), ("array", ArrayOfKind), ("entry", Kind), ("door", table_of(4))],
)
def test_python_and_machine_code_agree(name: str, structure: Any) -> None:
    # A module keeps only the types that it uses.
    uses = "".join(f"@{one} = external global %{one}\n" for one in ("array", "entry", "door"))
    with llvm.parse_assembly(f"{key_module()}{uses}") as module:
        data = target_machine(load_machine()).target_data
        found = module.get_struct_type(name)
        offsets = [data.get_element_offset(found, at) for at, _ in enumerate(found.elements)]
    # Behind what machine code knows of a door is the function that Python calls.
    fields = [field for field, _ in structure._fields_ if field != "entrance"]
    assert offsets == [getattr(structure, field).offset for field in fields]


def test_an_array_of_a_kind() -> None:
    array = np.zeros((4, 6), np.float32)[:, ::2]
    found = given_array(array, is_written=True)
    assert (found.element, found.rank, found.bytes) == (id(array.dtype), 2, 3 * 24 + 2 * 8 + 4)
    assert found.flags == ALIGNED | WRITEABLE
    assert (*found.extents[:2], *found.strides[:2]) == (4, 3, 24, 8)
    assert given_array(array, is_written=False).flags == ALIGNED


def test_what_numpy_is_to_make() -> None:
    element = np.dtype("f4")
    found = new_array(np.empty, ((2, 3), element))
    assert (found.element, found.rank, found.extents[:2]) == (id(element), 2, [2, 3])
    for allocate, shape in ((np.zeros, (2, 3)), (np.empty, (1,) * (MOST_RANK + 1))):
        assert new_array(allocate, (shape, element)).element is None
    assert ctypes.sizeof(table_of(2)) - ctypes.sizeof(table_of(1)) == ctypes.sizeof(Kind)
