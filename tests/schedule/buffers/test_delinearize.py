"""Loops that count several indices at once."""

from collections.abc import Iterator

import islpy as isl
import pytest

from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.schedule.buffers.delinearize import delinearized
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule

SPACE = "{ S[i, j] -> "
BOX = "{{ S[i, j] : 0 <= i <= 4 and 0 <= j <= {0} }}"


def collapsed() -> Program:
    """Parts of i and of j, both uneven, and a batch, as one loop."""
    build = KernelBuilder("copies")
    a, b = build.input("a", i32, (2, 7, 10)), build.output("b", i32, (2, 7, 10))
    with build.loops(n=2, i=7, j=10) as (n, i, j), build.statement("S"):
        b[n, i, j] = a[n, i, j]
    return (
        Schedule(build.kernel())
        .divide("i", 3, into="pi")
        .divide("j", 4, into="pj")
        .reorder("n", "pi", "pj", "i", "j")
        .collapse("n", "pi", "npi")
        .collapse("npi", "pj", "all")
        .program
    )


def points(statement: Statement) -> Iterator[isl.Point]:
    found: list[isl.Point] = []
    statement.domain.foreach_point(found.append)
    return iter(found)


def test_a_coordinate_follows_from_the_linear_index() -> None:
    program = collapsed()
    statement = program.statements["S"]
    function = path(program.tree, "S")[0].values["S"]
    line = isl.Set("{ [x] }")
    local = isl.LocalSpace.from_space(line.get_space())
    number = isl.Aff.var_on_domain(local, isl.dim_type.set, 0)
    found = delinearized(function, statement.domain, number)
    assert found is not None
    for point in points(statement):
        at = line.fix_val(isl.dim_type.set, 0, function.eval(point)).sample_point()
        assert [str(one.number.eval(at)) for one in found] == [
            str(one.value.eval(point)) for one in found
        ]


@pytest.mark.parametrize(
    ("function", "last", "count"),
    [
        ("(3 i + j)", 2, 2),
        ("(3 i + j)", 3, 1),
        ("(3 i - j)", 2, 2),
        ("(3 i - j)", 3, 1),
        ("(j - 3 i)", 2, 2),
        ("(i + j)", 0, 2),
        ("(i + j)", 1, 1),
        ("(2 i + 2 j)", 1, 1),
        ("(1 + 3 i + j)", 2, 1),
        ("(3 i + floor((i + j)/2))", 2, 1),
        ("(3 i)", 2, 1),
        ("(0)", 2, 1),
    ],
)
def test_which_functions_are_linear_indices(function: str, last: int, count: int) -> None:
    value = isl.PwAff(f"{SPACE}[{function}] }}")
    domain = isl.Set(BOX.format(last))
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(domain.get_space()))
    found = delinearized(value, domain, zero)
    assert (1 if found is None else len(found)) == count
