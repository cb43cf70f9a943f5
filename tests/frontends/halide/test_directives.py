"""The directives of a stage: what is recorded, and what is no directive."""

from collections.abc import Callable

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.halide import Func, Var
from polysched.frontends.halide.directives import (
    Fuse,
    Parallel,
    Reorder,
    Split,
    Stage,
    Unroll,
    Vectorize,
)

x, y, xo, yo, xi, yi = (Var(name) for name in "x y xo yo xi yi".split())


def test_each_directive_is_a_record_with_its_place() -> None:
    stage = Stage("f")
    stage.split(x, xo, xi, 4).reorder(xi, y, xo).fuse(y, xo, yo).vectorize(xi, 4)
    stage.vectorize(xi).unroll(y).unroll(y, 2).parallel(yo)
    assert [one.directive for one in stage.directives] == [
        Split("x", "xo", "xi", 4),
        Reorder(("xi", "y", "xo")),
        Fuse("y", "xo", "yo"),
        Vectorize("xi", 4),
        Vectorize("xi", None),
        Unroll("y", None),
        Unroll("y", 2),
        Parallel("yo"),
    ]
    assert {one.location.file for one in stage.directives if one.location} == {__file__}


def test_an_integer_of_numpy_is_a_factor() -> None:
    stage = Stage("f").unroll(y, np.int64(2))  # type: ignore[arg-type]
    assert [one.directive for one in stage.directives] == [Unroll("y", 2)]


def test_a_tile_is_two_splits_and_an_order() -> None:
    stage = Stage("f").tile(x, y, xo, yo, xi, yi, 8, 4)
    assert [one.directive for one in stage.directives] == [
        Split("x", "xo", "xi", 8),
        Split("y", "yo", "yi", 4),
        Reorder(("xi", "yi", "xo", "yo")),
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda stage: stage.split(x, xo, xi, 0), "f.split: 0 is not a valid factor"),
        (lambda stage: stage.split("x", xo, xi, 2), "f.split('x'): of type str; expected a Var"),
        (lambda stage: stage.reorder(x, 3), "f.reorder(3): of type int"),
        (lambda stage: stage.vectorize(x, 2.5), "f.vectorize: 2.5 is not a valid factor"),
        (lambda stage: stage.unroll(x, True), "f.unroll: True is not a valid factor"),
        (lambda stage: stage.parallel(None), "f.parallel(None)"),
    ],
)
def test_arguments_that_do_not_fit(call: Callable[[Stage], object], message: str) -> None:
    with pytest.raises(ps.PolyschedError) as raised:
        call(Stage("f"))
    assert message in str(raised.value)


def test_a_directive_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError):
        Func("f").store_at(Func("g"), x)  # type: ignore[attr-defined]
