"""Functions that all sizes, or these sizes in general, do not fit are compiled for one call's."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, FrontendError
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


def clipped(x):
    return x[:3].sum(), x[10:].sum(), x[-2:], x[1:-1].sum(), x[7::-2], x[::-1][:4]


def test_slices_end_with_the_array() -> None:
    own = ps.jit(clipped)
    for length in (20, 2, 1, 0, 20, 11, 2):
        require_same_results(own, clipped, np.arange(float(length)))


def from_an_index(x, k):
    return x[k], x[k:].sum(), x[:k].sum()


def test_an_index_that_counts_from_the_end() -> None:
    own = ps.jit(from_an_index)
    for k in (2, -1, 0, -3, 2, -1):
        require_same_results(own, from_an_index, np.arange(5.0), k)


def outside(x):
    return x[3]


def test_an_access_outside_is_refused_for_its_sizes_alone() -> None:
    own = ps.jit(outside)
    assert own(np.arange(5.0)) == 3
    with pytest.raises(CallError, match=r"requires x.shape\[0\] >= 4"):
        own(np.arange(3.0))
    assert own(np.arange(6.0)) == 3


def refused(x):
    return x.nothing()


def test_an_error_about_all_sizes_stays() -> None:
    with pytest.raises(FrontendError, match="'x.nothing' cannot be called"):
        ps.jit(refused)(np.arange(3.0))
