import random

import pytest

from polysched.fuzz.generate.drafting import (
    Draft,
    element,
    guarded,
    index_range,
    new_array,
    new_draft,
)
from polysched.fuzz.generate.limits import Limits
from polysched.fuzz.generate.sketch import AssignSketch, ParameterSketch, WhereSketch
from polysched.ir.core.kernel import Role
from polysched.ir.expr.expressions import Constant, Index, as_expression
from polysched.ir.semantics.points import evaluate_many


def draft(seed: int, greatest: int | None = 4) -> Draft:
    """A draft with one parameter, inside two loops."""
    parameters = (ParameterSketch("N", 0, greatest),)
    made = Draft(random.Random(seed).randint, Limits(), parameters, numbered=False)
    made.scope += [Index("i"), Index("j")]
    return made


@pytest.mark.parametrize("greatest", [4, None])
def test_elements_are_inside_their_array(greatest: int | None) -> None:
    """Whatever the indices between 0 and one more than the parameter are."""
    short = 0
    for seed in range(200):
        made = draft(seed, greatest)
        array = new_array(made, Role.INOUT, 2)
        for size, i, j in ((4, 5, 0), (4, 0, 5), (4, 5, 5), (2, 3, 0), (0, 1, 1), (0, 0, 1)):
            at = {"N": size, "i": i, "j": j}
            extents = [evaluate_many(extent, at) for extent in array.sketch.shape]
            touched = [evaluate_many(one, at) for one in element(made, array).subscripts]
            inside = all(0 <= one < extent for one, extent in zip(touched, extents, strict=True))
            short += not inside
    assert short <= 20  # some arrays are too small on purpose


def test_ranges_stay_within_the_span() -> None:
    for seed in range(200):
        made = draft(seed)
        lower, upper, step = index_range(made)
        for size, i, j in ((4, 4, 0), (4, 0, 4), (1, 1, 1)):
            at = {"N": size, "i": i, "j": j}
            assert evaluate_many(lower, at) >= 0
            assert evaluate_many(upper, at) <= max(size, 2) + 1
            assert step in {1, 2, 3}


def test_some_kernels_have_literal_sizes() -> None:
    drafts = [new_draft(random.Random(seed).randint, Limits(largest=4)) for seed in range(300)]
    literal = [one for one in drafts if not one.parameters]
    assert 60 <= len(literal) <= 140
    assert {str(size) for one in literal for size in one.sizes} == set("1234567")
    for one in literal:
        extents = new_array(one, Role.INOUT, 2).sketch.shape
        assert all(isinstance(extent, Constant) for extent in extents)


def test_loops_open_and_close() -> None:
    made = new_draft(random.Random(0).randint, Limits())
    with (
        made.loop(Constant(0), Constant(3)) as outer,
        made.loop(Constant(0), made.scope[0]) as inner,
    ):
        assert len(made.scope) == 2
        nest = outer(inner())
    assert made.scope == []
    assert made.loops == 2
    (below,) = nest.body
    assert getattr(below, "upper", None) == Index(nest.index)


def test_conditions() -> None:
    made = draft(0)
    array = new_array(made, Role.INOUT, 1)
    target = element(made, array)
    plain = AssignSketch("S", target, as_expression(1))
    parts = [guarded(made, plain) for _ in range(100)]
    assert 10 < sum(isinstance(part, WhereSketch) for part in parts) < 50
    made.scope.clear()
    assert guarded(made, plain) is plain
