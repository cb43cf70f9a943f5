"""Functions that are no kernels for a subscript, a shape or an axis. The messages are in a golden file."""

# ruff: noqa

import numpy as np


def subscript_not_affine(x: "f32[n]"):
    for i in range(x.shape[0]):
        for j in range(i):
            x[i * j + 1] = 0


def subscript_of_data(x: "f32[n]", at: "i64[n]"):
    for i in range(x.shape[0]):
        x[i] = x[at[i] + 1]


def subscript_is_fractional(x: "f32[n]"):
    for i in range(x.shape[0]):
        x[i / 2] = 0


def too_many_subscripts(x: "f32[n, n]"):
    for i in range(x.shape[0]):
        x[i, i, 0] = 0


def shapes_that_differ(x: "f32[5]", y: "f32[7]"):
    x[1:] = y[1:]


def shapes_that_do_not_broadcast(x: "f32[5]", y: "f32[n, 4]"):
    x[:] = np.sum(x + y, axis=0)


def slice_of_another_size(x: "f32[n]"):
    x[1:] = x[1:-1]


def slice_bounded_by_data(x: "f32[n]", k: "i64"):
    x[k:] = 0


def slice_below_zero(x: "f32[n]"):
    for i in range(x.shape[0]):
        x[: i - 1] = 0


def result_that_is_assigned_to(x: "f32[n]"):
    (x + 1)[0] = 2


def array_in_an_element(x: "f32[n]"):
    x[0] = x[1:]


def float_in_place_of_integers(x: "i32[n]"):
    x *= 0.5


def chained_comparison(x: "f32[n]"):
    x[:] = np.where(0 < x < 1, x, 0)


def condition_of_an_array(x: "f32[n]"):
    if x > 0:
        x[0] = 1


def minimum_of_an_array(x: "f32[n]"):
    x[0] = min(x, 1)


def product_of_other_sizes(x: "f64[4, 5]", y: "f64[4, 5]"):
    x[:] = x @ y


def product_of_many_dimensions(x: "f64[n, n, n]"):
    x[:] = np.dot(x, x)


def axis_that_is_none(x: "f64[n]"):
    x[0] = np.sum(x, axis=1)


def keyword_of_no_meaning(x: "f64[n]"):
    x[0] = np.sum(x, where=x > 0)


def transposed_by_one_dimension(x: "f64[n, m]"):
    x[:] = np.transpose(x, axes=(0, 0))


def array_given_to_a_name_of_another(x: "f64[n, n]"):
    row = x[0]
    for i in range(1, x.shape[0]):
        row = x[i]
    row[0] = 1


def new_array_beside_an_alias(x: "f64[n]"):
    t = x * 2
    other = t
    for i in range(3):
        t = t + 1
    x[:] = other + t


def new_array_of_another_type(x: "i32[n]"):
    t = x * 2
    for i in range(3):
        t = t * 0.5
    x[:] = t


def array_of_a_loop_used_after(x: "f64[n]"):
    for i in range(3):
        t = x[i:]
    x[0] = t[0]


def range_of_floats(x: "f64[n]"):
    x[:] = np.arange(0.0, 1.0, 0.1)


def index_arrays_of_other_shapes(x: "f64[n, n]", at: "i64[3] in range(n)"):
    x[0, 0] = x[at, at[:2]][0]
