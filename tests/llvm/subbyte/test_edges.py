"""Every size from 1 to 70, for some of the types; `sweep.py` does all."""

from itertools import product

import pytest

from polysched.ir.expr.dtypes import as_dtype
from polysched.machine.load import load_machine
from tests.llvm.subbyte.edges import LARGEST, check_matrices, check_vectors
from tests.support.effort import EFFORT
from tests.support.runnable import runnable

SIZES = range(1, LARGEST + 1)
NAMES = ("u1", "i2", "u3", "i4", "u4", "i5", "u6", "i7", "u12", "i23")
FORMS = [
    (name, lanes)
    for at, name in enumerate(NAMES)
    for lanes in ((16, 64) if EFFORT > 1 else ((16, 64)[at % 2],))
]


@pytest.mark.parametrize(("name", "lanes"), FORMS)
def test_vectors_of_every_size(name: str, lanes: int) -> None:
    check_vectors(as_dtype(name), lanes, load_machine(None), SIZES)


@pytest.mark.parametrize("name", ["i4", "u5"])
@pytest.mark.parametrize("machine", ["haswell-avx2", "generic"])
def test_vectors_of_every_size_without_avx512(name: str, machine: str) -> None:
    check_vectors(as_dtype(name), 16, runnable(machine), SIZES)


@pytest.mark.parametrize("rows", ["padded", "contiguous"])
@pytest.mark.parametrize("name", ["i4", "u5"])
def test_matrices_of_many_sizes(name: str, rows: str) -> None:
    extents = (1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 70)
    check_matrices(as_dtype(name), rows, load_machine(None), product(extents, extents))
