"""Functions that are no kernels for a reason in a call. The messages are in a golden file."""

# ruff: noqa

import math
import numpy as np


def calls_a_function_that_writes(x: "f32[n]"):
    x[1] = x[0] + writes(x)


def calls_a_recursive_function(x: "f32[n]"):
    x[0] = recursive(x[0])


def calls_with_wrong_arguments(x: "f32[n]"):
    x[0] = helper(x[0], 2)


def calls_a_function_that_returns_in_a_loop(x: "f32[n]"):
    x[0] = returns_in_a_loop(x)


def helper(value):
    return value


def writes(array):
    array[0] = 1
    return array[1]


def recursive(value):
    return recursive(value) + 1


def returns_in_a_loop(array):
    for i in range(len(array)):
        return array[i]


def calls_print(x: "f32[n]"):
    for i in range(x.shape[0]):
        print(x[i])


def calls_random(x: "f32[n]"):
    for i in range(x.shape[0]):
        x[i] = np.random.random()


def unknown_function(x: "f32[n]"):
    for i in range(x.shape[0]):
        x[i] = math.squirt(x[i])


def too_many_arguments(x: "f32[n]"):
    for i in range(x.shape[0]):
        x[i] = np.sqrt(x[i], x[i])
