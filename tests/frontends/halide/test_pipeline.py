"""Pipelines against numpy: what is computed, over which regions, whatever the directives."""

from collections.abc import Callable

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.halide import Func, ImageParam, Pipeline, RDom, clamp
from polysched.ir.core.kernel import Order
from tests.frontends.halide.algorithms import (
    blur,
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
