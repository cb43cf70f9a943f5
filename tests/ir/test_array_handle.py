from pathlib import Path

import pytest

from polysched.errors import KernelError
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import i32, i64


def test_subscripting_reads_an_element() -> None:
    build = KernelBuilder("k")
    x = build.input("x", i32, (4, 4), values=(0, 9))
    with build.loops(i=4) as i:
        element = x[i, 0]
    assert (str(element), element.dtype) == ("x[i, 0]", i32)
    assert element.values == x.array.values
    assert element.location is not None
    assert Path(element.location.file).name == "test_array_handle.py"


def test_assigning_declares_a_statement() -> None:
    build = KernelBuilder("k")
    y = build.output("y", i64, (4,))
    with build.loops(i=4) as i:
        y[i] = i
    assert [*map(str, build.kernel().statements.values())] == ["y: y[i] = i"]


def test_an_array_cannot_be_iterated_over() -> None:
    y = KernelBuilder("k").output("y", i64, (4,))
    with pytest.raises(KernelError, match="array 'y' cannot be iterated over; subscript it inside"):
        list(y)
