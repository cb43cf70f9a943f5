"""What annotations declare."""

from typing import Annotated, Any

import numpy as np

from polysched.frontends.python.source.annotations import ArrayArgument, SizeArgument, arguments_of
from polysched.frontends.python.source.function_source import function_source
from polysched.ir.expr.dtypes import boolean, f32, f64, i8
from polysched.ir.expr.expressions import Constant, Parameter

WIDTH = 3


def test_every_form() -> None:
    def function(
        a: "f32[n, m + 1]",
        b: "np.float64[2 * n - WIDTH, m // 2]",
        c: "ps.i8[n] in range(m)",  # noqa: F821
        d: "i8[n] in range(-1, WIDTH)",
        e: Annotated[np.ndarray, "bool[4]"],
        f: "float",
        n: int,
        *,
        g: Annotated[Any, "f32"],
    ) -> None:
        """Only its arguments are read."""

    n, m = Parameter("n"), Parameter("m")
    found = {one.name: one for one in arguments_of(function_source(function))}
    arrays = {
        name: (one.dtype, one.shape, one.values)
        for name, one in found.items()
        if isinstance(one, ArrayArgument)
    }
    assert arrays == {
        "a": (f32, (n, m + 1), None),
        "b": (f64, (Constant(2) * n - 3, m // 2), None),
        "c": (i8, (n,), (Constant(0), m)),
        "d": (i8, (n,), (-Constant(1), Constant(3))),
        "e": (boolean, (Constant(4),), None),
        "f": (f64, (), None),
        "g": (f32, (), None),
    }
    assert isinstance(found["n"], SizeArgument)
