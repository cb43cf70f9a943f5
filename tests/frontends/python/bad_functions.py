"""Functions that are no kernels, each for one reason. The messages are in a golden file."""

# ruff: noqa

import math
from typing import Any

import numpy as np

import polysched as ps

WORDS = "words"


def no_annotation(x):
    x[0] = 1


def odd_annotation(x: "f33[n]"):
    x[0] = 1


def unreadable_annotation(x: "f32[n"):
    x[0] = 1


def slice_in_annotation(x: "f32[:]"):
    x[0] = 1


def annotation_that_is_no_type(x: 5):
    x[0] = 1


def product_of_sizes(x: "f32[n * m]"):
    x[0] = 1


def star_arguments(x: "f32[n]", *rest):
    x[0] = 1


def complex_argument(x: "complex64[n]"):
    x[0] = 1


def complex_number(x: "f64[n]"):
    x[0] = 1j


def size_not_defined(x: "f32[n]"):
    for i in range(n):
        x[i] = 1


def unknown_name(value: "f32[n]"):
    for i in range(value.shape[0]):
        value[i] = valeu[i]


def text_as_number(x: "f32[n]"):
    for i in range(x.shape[0]):
        x[i] = WORDS


def types_of_no_operation(x: "f32[n]", y: "f64[n]"):
    for i in range(x.shape[0]):
        x[i] = x[i] & y[i]


def type_decided_by_data(x: "f32[n]", y: "f64[n]"):
    for i in range(x.shape[0]):
        y[i] = max(x[i], 0) + 0.1


def literal_that_does_not_fit(x: "i8[n]"):
    for i in range(x.shape[0]):
        x[i] += 300


def negative_shift(x: "i64[n]"):
    x[0] = 1 << -1


def negative_shift_of_an_element(x: "i64[n]"):
    x[0] = x[0] << -1


def integer_too_long(x: "f64[n]"):
    for i in range(x.shape[0]):
        x[i] = (i + 1) * 10**10 * 10**10 / 1e10


def integer_of_an_element_too_long(x: "i64[n]"):
    for i in range(x.shape[0]):
        x[i] = int(x[i]) + 1


def integer_not_exact_in_float64(x: "f64[n]", y: "i64[n]"):
    for i in range(x.shape[0]):
        x[i] = int(y[i]) / 3


def literal_too_long(x: "f64[n]"):
    for i in range(x.shape[0]):
        x[i] = i % 10**20


def operand_of_and_as_a_value(x: "f32[n]"):
    for i in range(x.shape[0]):
        x[i] = i and 5


def local_of_two_types(x: "f32[n]", y: "f64[n]"):
    for i in range(x.shape[0]):
        t = x[i]
        t = y[i]
        y[i] = t


def whole_array(x: "f32[n]", y: "f32[n]"):
    for i in range(x.shape[0]):
        x[i] = y


def array_as_condition(x: "f32[n]"):
    for i in range(x.shape[0]):
        if x:
            x[i] = 1


def division_by_zero(x: "f32[n]"):
    for i in range(x.shape[0]):
        x[i] = 1 / 0


def power_of_integers(x: "i32[n]"):
    for i in range(x.shape[0]):
        x[i] = x[i] ** 40


def comprehension(x: "f32[n]"):
    x[0] = len([e for e in range(3)])


def too_many_targets(x: "f32[n]"):
    x[0], x[1] = 1, 2, 3


def number_argument_assigned(x: "f32[n]", alpha: "f32"):
    alpha = 2
    x[0] = alpha


def returns_a_part_of_an_argument(x: "f32[n]"):
    x[0] = 1
    return x[1:]


def returns_what_a_loop_made(x: "f32[n]"):
    for i in range(x.shape[0]):
        t = x[:i] + i
    return t


def returns_an_argument(x: "f32[n]"):
    x[0] = 1
    return x


def returns_twice(x: "f32[n]"):
    y = np.zeros(3)
    x[0] = 1
    return y, y


def returns_what_is_not_made(x: "f32[n]"):
    x[0] = 1
    return y


def asserts_data(x: "f32[n]"):
    assert x[0] > 0
    x[0] = 1


def array_in_loop_of_unknown_size(x: "f32[n]"):
    for i in range(x.shape[0]):
        t = np.zeros(i * i)
        x[i] = 0


def unknown_type_of_array(x: "f32[n]"):
    t = np.zeros(3, dtype=np.complex64)
    x[0] = 0


def with_something_else(x: "f32[n]"):
    with open("file"):
        x[0] = 0


def label_twice(x: "f32[n]"):
    with ps.statement("s"):
        x[0] = 0
    with ps.statement("s"):
        x[1] = 0


def order_of_no_reduction(x: "f32[n]"):
    with ps.statement("s", order="any"):
        x[0] = 0


def nothing(x: "f32[n]"):
    pass


def too_deep(x: "f32[n]"):
    x[
        0
    ] = ----------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------x[
        0
    ]


def wide_characters(größe: "f32[n]"):
    größe[0] = größe[0] + "ß"


def on_several_lines(x: "f32[n]", y: "f64[n]"):
    x[0] = x[0] | y[0]


def default_value(x: "f32[n]", n: int = 3):
    x[0] = n


def power_for_hours(x: "i64[n]"):
    x[0] = 9**9**9


def subscript_in_a_narrow_type(x: "i64[n]", k: "u8"):
    for i in range(x.shape[0]):
        x[np.uint8(3) - np.uint8(5)] = i


def bound_in_a_narrow_type(x: "i64[n]"):
    for i in range(-np.uint8(5)):
        x[i] = 1


def numpy_power_of_integers(x: "i64[n]"):
    x[0] = np.power(x[0], x[1])


def call_as_a_statement(x: "f32[n]"):
    x.sort()


def filtered_list(x: "f32[n]"):
    x[:] = np.array([v for v in x if v > 0])


def ragged_list(x: "f32[n]"):
    x[:3] = np.array([x[i:] for i in range(3)]).sum(axis=0)


def typed_list(x: "f32[n]"):
    x[:] = np.array([v for v in x], np.float32)


async def asynchronous(x: "f32[n]"):
    x[0] = 1
