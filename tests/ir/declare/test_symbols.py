import re
from collections.abc import Callable

import islpy as isl
import pytest

from polysched.errors import KernelError
from polysched.ir.core.kernel import Array, Role
from polysched.ir.declare.symbols import Symbols
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Load, Parameter


def array(symbols: Symbols, name: str, *shape: object, dimensions: str | None = None) -> Array:
    return symbols.add_array(name, f32, shape, Role.INPUT, dimensions, None)


def test_arrays_have_named_dimensions() -> None:
    symbols = Symbols("k")
    n = symbols.add_parameter("n", 0, None)
    made = array(symbols, "t", n, n + 1, dimensions="row column")
    assert symbols.arrays == {"t": made}
    assert made.dimensions == ("row", "column")
    assert made.stored_shape == (n, n + 1)


def test_assumptions_restrict_the_context() -> None:
    symbols = Symbols("k")
    n, m = symbols.add_parameter("n", 0, 99), symbols.add_parameter("m", None, None)
    assert symbols.context().is_equal(isl.Set("[n, m] -> { : 0 <= n <= 99 }"))
    symbols.assume(n < m)
    assert symbols.context().is_equal(isl.Set("[n, m] -> { : 0 <= n <= 99 and n < m }"))


def test_assumptions_that_contradict_each_other() -> None:
    symbols = Symbols("k")
    symbols.add_parameter("n", 5, 4)
    with pytest.raises(KernelError, match="assumptions about the parameters of kernel 'k'"):
        symbols.context()


def test_what_is_a_name_of_the_kernel() -> None:
    symbols = Symbols("k")
    symbols.add_parameter("n", 0, None)
    array(symbols, "x", 4)
    assert [name in symbols for name in ("n", "x", "y")] == [True, True, False]


def test_the_space_of_a_statement() -> None:
    symbols = Symbols("k")
    symbols.add_parameter("n", 0, None)
    assert isl.Set.universe(symbols.space("S", ("i", "j"))).is_equal(isl.Set("[n] -> { S[i, j] }"))


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda symbols: symbols.claim("n", "parameter"),
            "parameter 'n': the name is taken already in kernel 'k'",
        ),
        (lambda symbols: array(symbols, "y", 1), "array 'y': the name is taken already"),
        (lambda symbols: array(symbols, "2x", 1), "array name '2x' is not an identifier"),
        (
            lambda symbols: symbols.add_array("z", "f33", 1, Role.INPUT, None, None),
            "unknown element type 'f33'; did you mean 'f32'?",
        ),
        (
            lambda symbols: array(symbols, "z", Parameter("n") * Parameter("n")),
            "shape of array 'z': '(n * n)' is not affine",
        ),
        (
            lambda symbols: array(symbols, "z", 1, dimensions="a b"),
            "array 'z' has 1 dimensions; dimensions='a b' must give each",
        ),
        (
            lambda symbols: symbols.require_index_array(Load("z", (), f32)),
            "'z[]' reads an array that kernel 'k' does not declare",
        ),
        (
            lambda symbols: symbols.require_declared("S", Parameter("m")),
            "statement 'S' uses parameter 'm', which kernel 'k' does not declare",
        ),
        (
            lambda symbols: symbols.require_declared("S", Load("z", (), f32)),
            "statement 'S' reads array 'z', which kernel 'k' does not declare",
        ),
    ],
)
def test_faulty_names(declare: Callable[[Symbols], object], message: str) -> None:
    symbols = Symbols("k")
    symbols.add_parameter("n", 1, None)
    array(symbols, "y", Parameter("n"))
    with pytest.raises(KernelError, match=re.escape(message)):
        declare(symbols)
