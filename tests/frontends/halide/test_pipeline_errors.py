"""Pipelines that are refused: directives that cannot be applied, algorithms that are none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.halide import Func, ImageParam, Pipeline, RDom, Var
from tests.frontends.halide.algorithms import (
    blur,
    ci,
    co,
    convolution,
    product,
    x,
    xi,
    xo,
    xy,
    y,
    yo,
)


def unknown_variable(across: Func, down: Func) -> None:
    down.vectorize(Var("z"), 8)


def split_before(across: Func, down: Func) -> None:
    down.split(x, xo, xi, 4).split(x, co, ci, 2)


def incomplete_order(across: Func, down: Func) -> None:
    down.split(x, xo, xi, 4).vectorize(xi, 4).fuse(xo, yo, xy)


def directives_inline(across: Func, down: Func) -> None:
    across.vectorize(x, 8)


def unknown_level(across: Func, down: Func) -> None:
    across.compute_at(down, Var("z"))


def level_of_output(across: Func, down: Func) -> None:
    across.compute_root()
    down.compute_at(across, x)


def level_elsewhere(across: Func, down: Func) -> None:
    across.compute_at(Func("other"), x)


def whole_loop_of_unknown_size(across: Func, down: Func) -> None:
    down.vectorize(x)


@pytest.mark.parametrize(
    ("directives", "message"),
    [
        (unknown_variable, "down has no variable 'z'; known are 'x', 'y'"),
        (split_before, "down has no variable 'x'; did you mean"),
        (incomplete_order, "down has no variable 'yo'"),
        (directives_inline, "Func 'across' has directives and is computed inline"),
        (unknown_level, "across.compute_at: Func 'down' has no variable 'z'"),
        (level_of_output, "Func 'down' is the output, so it cannot have compute_at"),
        (level_elsewhere, "Func 'other' is not computed in this pipeline"),
        (whole_loop_of_unknown_size, "the extent of 'x' is not known; expected a width"),
    ],
)
def test_directives_that_cannot_be_applied(
    directives: Callable[[Func, Func], None], message: str
) -> None:
    across, down, _ = blur()
    directives(across, down)
    with pytest.raises(ps.PolyschedError) as raised:
        Pipeline(down).schedule(["width", "height"])
    assert message in str(raised.value)


def test_a_directive_on_a_loop_of_one_iteration() -> None:
    conv, relu = convolution(4)
    relu.split(x, xo, xi, 5).reorder(xi, xo, y)
    conv.compute_at(relu, xo).unroll(y).vectorize(y, 4)
    with pytest.raises(ps.PolyschedError) as raised:
        Pipeline(relu).schedule([16, 10, 4, 1])
    assert "conv.vectorize: 'y' has one iteration where the Func is computed" in str(raised.value)
    assert "test_pipeline_errors.py:" in str(raised.value)


def test_a_step_that_is_refused_is_reported_in_terms_of_the_directive() -> None:
    out = product()
    out.update().reorder(x, RDom([(0, 1)], "r").x).fuse(x, y, xy)
    with pytest.raises(ps.PolyschedError, match=r"out.update\(0\).fuse: .*test_pipeline_errors.py"):
        Pipeline(out).schedule([8, 8])


def read_before_beginning() -> Any:
    image, out = ImageParam("f32", 1, "image"), Func("out")
    out[x] = image[x - 1]
    return Pipeline(out).kernel([8])


def data_dependent() -> Any:
    image, histogram = ImageParam("i32", 1, "image"), Func("histogram")
    r = RDom([(0, 10)], "r")
    histogram[x] = 0
    histogram[image[r.x]] += 1
    return Pipeline(histogram).kernel([8])


def not_affine() -> Any:
    image, out = ImageParam("f32", 1, "image"), Func("out")
    out[x, y] = image[x * y]
    return Pipeline(out).kernel([8, 8])


def same_names() -> Any:
    a, b, out = (ImageParam("f32", 1, name) for name in ("image", "image", "out"))
    func = Func("out")
    func[x] = a[x] + b[x] + out[x]
    return Pipeline(func).kernel([8])


def wrong_extents() -> Any:
    return Pipeline(blur()[1]).kernel([8])


def an_image_for_extents() -> object:
    f = Func("f")
    f[x] = 1.0
    return Pipeline(f).schedule(np.ones(3))  # type: ignore[arg-type]


def extents_as_text() -> Any:
    return Pipeline(blur()[1]).kernel("ab")


def fractional_extent() -> Any:
    return Pipeline(blur()[1]).kernel([1.5, 2])  # type: ignore[list-item]


def mixed_types() -> Any:
    a, b, out = ImageParam("f32", 1, "a"), ImageParam("f64", 1, "b"), Func("out")
    out[x] = a[x] + b[x]
    return out


def not_defined() -> Any:
    return Pipeline(Func("f")).kernel([8])


def no_func() -> Any:
    return Pipeline(5)  # type: ignore[arg-type]


def unknown_policy() -> Any:
    return Pipeline(product(), "some")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (read_before_beginning, "image 'image' is read at subscripts from -1 in dimension 0"),
        (data_dependent, "subscript 'image[r_x]' depends on data"),
        (not_affine, "'(x * y)' is not affine"),
        (same_names, "two images have the name 'image'"),
        (wrong_extents, "the output 'down' has 2 dimensions; its region is given by 1"),
        (extents_as_text, "expected a list, one for each dimension"),
        (an_image_for_extents, "extents of type ndarray; expected a list, one for each dimension"),
        (fractional_extent, "extent 1.5; expected a number"),
        (mixed_types, "mixes f32 and f64"),
        (not_defined, "Func 'f' has no definition"),
        (no_func, "Pipeline of a int; expected a Func"),
        (unknown_policy, "unknown order policy 'some' of a pipeline"),
    ],
)
def test_algorithms_that_cannot_be_had(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ps.PolyschedError) as raised:
        make()
    assert message in str(raised.value)


def test_a_message_has_one_place() -> None:
    f = Func("f")
    f[x] = 1.0
    f.vectorize(x, 3)
    with pytest.raises(ps.FrontendError, match="expected a power of two up to 64") as raised:
        Pipeline(f).schedule([16])
    assert str(raised.value).count(__file__) == 1
