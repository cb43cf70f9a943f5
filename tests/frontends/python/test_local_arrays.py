"""Arrays that a function makes: their shapes, types, roles and first values."""

import numpy as np

import polysched as ps
from polysched.frontends.python.decorator import read_kernel
from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import f32, f64, i32
from tests.frontends.python.same_results import require_same_results

# ruff: noqa: F821


def test_every_maker() -> None:
    def made(x: "i32[n, m]"):
        n, m = x.shape
        a = np.empty((n, 3))
        b = np.zeros(m, np.float32)
        c = np.ones([2, n + 1], dtype="f4")
        d = np.full(x.shape, 7, dtype=x.dtype)
        e = np.zeros_like(x)
        f = np.empty_like(x, dtype=np.float64)
        a[0, 0] = 0
        f[0, 0] = np.float64(c[0, 0])
        e[0, 0] = 1
        return b, d

    kernel = read_kernel(made)
    found = {
        name: (array.dtype, ", ".join(map(str, array.shape)), array.role)
        for name, array in kernel.arrays.items()
        if name != "x"
    }
    assert found == {
        "a": (f64, "n, 3", Role.TEMPORARY),
        "b": (f32, "m", Role.OUTPUT),
        "c": (f32, "2, (n + 1)", Role.TEMPORARY),
        "d": (i32, "n, m", Role.OUTPUT),
        "e": (i32, "n, m", Role.TEMPORARY),
        "f": (f64, "n, m", Role.TEMPORARY),
    }
    assert [str(one) for one in kernel.statements.values()][:4] == [
        "b: b[b_d0] = 0.0",
        "c: c[c_d0, c_d1] = 1.0",
        "d: d[d_d0, d_d1] = 7",
        "e: e[e_d0, e_d1] = 0",
    ]


def test_every_side_of_a_branch_over_data_gives_an_empty_array_its_elements() -> None:
    @ps.jit
    def classes(x):
        out = np.empty(len(x), np.int32)
        for i in range(len(x)):
            if x[i] < 0.2:
                out[i] = -1
            elif x[i] > 0.7:
                out[i] = 1
            else:
                out[i] = 0
        return out

    require_same_results(classes, classes.python, np.linspace(0, 1, 30))
