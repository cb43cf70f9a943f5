"""Reduction domains and extents."""

from polysched.frontends.halide.domains import RDom, RVar, as_extent
from polysched.ir.expr.expressions import Constant, Parameter


def test_a_domain_has_its_variables() -> None:
    r = RDom([(0, 3), (1, "n")], "r")
    assert list(r) == [r.x, r.y] == [RVar("r_x"), RVar("r_y")]
    assert r.y.domain is r
    assert str(r.bounds[1][1]) == "n"


def test_extents() -> None:
    assert as_extent(3) == Constant(3)
    assert as_extent("n") == Parameter("n")
    assert as_extent(Parameter("n") + 1) == Parameter("n") + 1
