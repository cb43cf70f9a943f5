"""Pipelines against numpy: what is computed, over which regions, whatever the directives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.halide import Func, ImageParam, Pipeline, RDom, Var, clamp
from polysched.ir.core.kernel import Order
from tests.frontends.halide.algorithms import (
    blur,
    ci,
    co,
    convolution,
    product,
    tutorial,
    x,
    xi,
    xo,
    xy,
    y,
    yi,
    yo,
)


def numbers(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)


def blurred(image: np.ndarray) -> np.ndarray:
    across = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) * np.float32(0.25)
    return (across[:-2] + across[1:-1] + across[2:]) * np.float32(0.5)


def nothing(across: Func, down: Func) -> None:
    pass


def root(across: Func, down: Func) -> None:
    across.compute_root().vectorize(x, 8)
    down.vectorize(x, 8).parallel(y)


def by_rows(across: Func, down: Func) -> None:
    across.compute_at(down, y).vectorize(x, 4)
    down.parallel(y)


def by_tiles(across: Func, down: Func) -> None:
    down.tile(x, y, xo, yo, xi, yi, 8, 4).vectorize(xi, 8).fuse(xo, yo, xy).parallel(xy)
    across.compute_at(down, xy).vectorize(x, 8).unroll(x)


def by_points(across: Func, down: Func) -> None:
    across.compute_at(down, x).unroll(x).unroll(y)


@pytest.mark.parametrize("directives", [nothing, root, by_rows, by_tiles, by_points])
def test_a_blur_whatever_its_schedule(directives: Callable[[Func, Func], None]) -> None:
    across, down, _ = blur()
    directives(across, down)
    image = numbers(15, 21)
    schedule = Pipeline(down).schedule([19, 13])
    assert schedule.check().is_legal
    np.testing.assert_array_equal(schedule.compile()(image), blurred(image))


def test_a_pure_func_is_computed_inline_unless_it_is_told_where() -> None:
    across, down, _ = blur()
    kernel = Pipeline(down).kernel([8, 8])
    assert list(kernel.arrays) == ["image", "down"]
    across.compute_root()
    assert list(Pipeline(down).kernel([8, 8]).arrays) == ["image", "across", "down"]
    across.compute_inline()
    assert list(Pipeline(down).kernel([8, 8]).arrays) == ["image", "down"]


def test_regions_are_inferred_from_that_of_the_output() -> None:
    across, down, _ = blur()
    across.compute_root()
    kernel = Pipeline(down).kernel(["width", "height"])
    shapes = {name: tuple(map(str, array.shape)) for name, array in kernel.arrays.items()}
    assert shapes == {
        "image": ("(height + 2)", "(width + 2)"),
        "across": ("(height + 2)", "width"),
        "down": ("height", "width"),
    }
    assert kernel.arrays["across"].dimensions == ("y", "x")


def test_sizes_known_only_at_the_call() -> None:
    across, down, _ = blur()
    by_rows(across, down)
    run = Pipeline(down).compile(["width", "height"])
    for shape in ((3, 3), (9, 40)):
        image = numbers(*shape)
        np.testing.assert_array_equal(run(image), blurred(image))


def test_a_func_that_is_needed_from_another_place_on() -> None:
    image, a, b = ImageParam("f32", 1, "image"), Func("a"), Func("b")
    a[x] = image[x - 3] * 2
    b[x] = a[x + 5]
    a.compute_root()
    kernel = Pipeline(b).kernel([6])
    assert str(kernel.arrays["a"].shape[0]) == "6"
    data = numbers(8)
    np.testing.assert_array_equal(Pipeline(b).realize([6], data), data[2:] * 2)


def test_a_product_of_matrices() -> None:
    out = product()
    r_x = RDom([(0, 12)], "r").x
    out.update().split(x, xo, xi, 16).reorder(xi, y, r_x, xo).vectorize(xi, 16)
    schedule = Pipeline(out).schedule([20, 10])
    assert list(schedule.steps[1].order) == [  # type: ignore[union-attr]
        "out_update.xo",
        "out_update.r_x",
        "out_update.y",
        "out_update.xi",
    ]
    a, b = numbers(10, 12), numbers(12, 20)
    np.testing.assert_array_equal(schedule.compile()(a, b), a @ b)


def test_the_policy_of_reductions() -> None:
    for order in Order:
        reduction = Pipeline(product(), order).kernel([4, 4]).statements["out_update"].reduction
        assert reduction is not None
        assert reduction.order is order


def test_the_schedule_of_the_tutorial() -> None:
    conv, relu = convolution(8)
    tutorial(conv, relu)
    schedule = Pipeline(relu).schedule([128, 10, 4, 2])
    assert str(schedule.check()).startswith("legal")
    bias, filter, image = numbers(128), numbers(8, 3, 3, 128), numbers(2, 6, 12, 8)
    expected = np.tile(bias, (2, 4, 10, 1))
    for rz in range(3):
        for ry in range(3):
            expected += image[:, rz : rz + 4, ry : ry + 10] @ filter[:, rz, ry]
    output = schedule.compile()(bias=bias, filter=filter, image=image)
    np.testing.assert_array_equal(output, np.maximum(expected, 0))


def test_the_schedule_of_the_tutorial_for_all_sizes() -> None:
    conv, relu = convolution("channels")
    tutorial(conv, relu)
    schedule = Pipeline(relu).schedule(["outputs", "width", "height", "images"])
    assert schedule.check().is_legal


def test_several_updates_and_a_scan() -> None:
    image, total = ImageParam("i32", 2, "image"), Func("total", "i32")
    r = RDom([(1, 6)], "r")
    total[x, y] = image[x, y]
    total[r.x, y] += total[r.x - 1, y]
    total[0, y] = 100
    data = numbers(3, 7, dtype="i4")
    expected = data.cumsum(axis=1, dtype="i4")
    expected[:, 0] = 100
    np.testing.assert_array_equal(Pipeline(total).realize([7, 3], data), expected)
    illegal = Pipeline(total)
    total.update().parallel(r.x)
    assert not illegal.schedule([7, 3]).check().is_legal


def test_a_reduction_over_part_of_a_box() -> None:
    image, total = ImageParam("f32", 2, "image"), Func("total")
    r = RDom([(0, 5), (0, 5)], "r")
    r.where(r.x <= r.y)
    total[x] = 0.0
    total[x] += ps.select(r.x < x, image[r.x, r.y], 0.0)
    data = numbers(5, 5)
    expected = [np.tril(data)[:, :k].sum() for k in range(4)]
    np.testing.assert_array_equal(Pipeline(total).realize([4], data), np.array(expected, "f4"))


def test_an_update_that_writes_beyond_the_output() -> None:
    image, wide = ImageParam("f32", 1, "image"), Func("wide")
    r, out = RDom([(0, 10)], "r"), Func("out")
    wide[x] = 0.0
    wide[r.x] = image[r.x] * 3
    out[x] = wide[x + 2]
    data = numbers(10)
    np.testing.assert_array_equal(Pipeline(out).realize([4], data), data[2:6] * 3)


def test_an_image_knows_the_extents_that_it_was_given() -> None:
    image, out = ImageParam(ps.i32, 2, "image", extents=["columns", "rows"]), Func("out")
    right = clamp(x + 1, 0, image.width() - 1)
    below = clamp(y + 1, 0, image.height() - 1)
    out[x, y] = image[right, y] - image[x, below]
    numbers = np.arange(12, dtype=np.int32).reshape(3, 4) ** 2
    found = Pipeline(out).compile(["columns", "rows"])(numbers)
    expected = np.hstack([numbers[:, 1:], numbers[:, -1:]])
    assert np.array_equal(found, expected - np.vstack([numbers[1:], numbers[-1:]]))


def test_clamped_places_and_types_of_values() -> None:
    image, count, out = ImageParam("u8", 1, "image"), Func("count"), Func("out")
    count[x] = 3
    out[x] = ps.cast(image[clamp(x - 1, 0, 5)], ps.i32) + count[x]
    data = np.arange(250, 256, dtype="u1")
    expected = data[np.clip(np.arange(8) - 1, 0, 5)].astype("i4") + 3
    np.testing.assert_array_equal(Pipeline(out).realize([8], data), expected, strict=True)


def test_an_image_of_given_extents() -> None:
    image, out = ImageParam("f32", 2, "image", ["width", 3]), Func("out")
    out[x] = image[x, 2]
    data = numbers(3, 9)
    np.testing.assert_array_equal(Pipeline(out).compile(["width"])(data), data[2])


def test_steps_have_the_place_of_the_directive() -> None:
    out = product()
    out.vectorize(x, 4)
    schedule = Pipeline(out).schedule([8, 8])
    assert schedule.locations[0] is not None
    assert schedule.locations[0].file == __file__
    location = schedule.kernel.statements["out_update"].location
    assert location is not None
    assert location.file.endswith("algorithms.py")


def test_a_loop_that_keeps_its_name_inside_of_another_of_that_name() -> None:
    across, down, _ = blur()
    across.compute_at(down, y).unroll(y).vectorize(x, 4)
    schedule = Pipeline(down).schedule([8, 6])
    assert "unroll(loop='across.y_inner')" in schedule.trace()
    image = numbers(8, 10)
    np.testing.assert_array_equal(schedule.compile()(image), blurred(image))


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
    assert "test_pipeline.py:" in str(raised.value)


def test_a_step_that_is_refused_is_reported_in_terms_of_the_directive() -> None:
    out = product()
    out.update().reorder(x, RDom([(0, 1)], "r").x).fuse(x, y, xy)
    with pytest.raises(ps.PolyschedError, match=r"out.update\(0\).fuse: .*test_pipeline.py"):
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
