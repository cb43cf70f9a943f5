"""Named tuples, dataclasses, tuples of arrays, dictionaries and flags as arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError


@dataclass
class Settings:
    factor: float
    count: int
    weights: np.ndarray
    mode: str = "plain"
    is_negative: bool = False


class Box(NamedTuple):
    low: float
    high: float


def scaled(settings, x):
    settings_factor = 1.0  # the name of the argument that holds the factor
    for _ in range(2):
        settings_factor *= 0.5
    return settings.factor * x * settings_factor


def moved(x, settings, box=Box(-1.0, 1.0)):  # noqa: B008
    low, high = box
    for _ in range(settings.count):
        x += scaled(settings, settings.weights)
    if settings.mode == "squared":
        x *= x
    if settings.is_negative:
        x[0] = -x[0]
    settings.weights[0] = box[-1] + box.low
    return np.clip(x, low, high), settings.weights


def test_each_value_is_an_argument() -> None:
    compiled = ps.jit(moved)
    for factor, count, mode, flag in (
        (0.5, 2, "plain", False),
        (0.25, 3, "plain", True),
        (2.0, 1, "squared", True),
        (3.0, 1, "squared", False),
    ):
        given = [Settings(factor, count, np.arange(5.0), mode, flag) for _ in range(2)]
        x = np.linspace(-2, 2, 5)
        box = Box(-factor, factor)
        expected = moved(x.copy(), given[0], box)
        found = compiled(x.copy(), given[1], box)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        assert found[1] is given[1].weights
        np.testing.assert_array_equal(given[1].weights, given[0].weights)
    assert len(compiled.signatures) == 4  # a mode and a flag are part of the code, not a factor


def test_tuples_lists_and_dictionaries_of_arrays() -> None:
    def layer(weights, state):
        x, y = state
        return np.maximum(x @ weights["w"] + weights["b"], 0) * y, state[-1]

    compiled = ps.jit(layer)
    weights = {"w": np.arange(6.0).reshape(2, 3), "b": -np.ones(3)}
    for kind in (tuple, list):
        state = kind([np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0])])
        for one, other in zip(compiled(weights, state), layer(weights, state), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_record_itself_is_no_value() -> None:
    @ps.jit
    def returned(box):
        return box

    with pytest.raises(FrontendError, match="a whole dictionary, tuple or record"):
        returned(Box(1.0, 2.0))

    @ps.jit
    def changed(settings):
        settings.count += 1

    with pytest.raises(FrontendError, match="expected a name or an element"):
        changed(Settings(1.0, 1, np.zeros(2)))


def test_flags_are_part_of_the_code() -> None:
    @ps.jit
    def chosen(x, is_negative=False, is_doubled=True):
        return -x if is_negative else x * 2 if is_doubled else x + 1

    x = np.arange(4.0)
    for _ in range(3):  # repeated calls too
        for negative in (False, True):
            for doubled in (True, False):
                expected = chosen.python(x, negative, doubled)
                np.testing.assert_array_equal(chosen(x, negative, doubled), expected)
                named = chosen(x, is_doubled=doubled, is_negative=negative)
                np.testing.assert_array_equal(named, expected)
        np.testing.assert_array_equal(chosen(x), 2 * x)
        np.testing.assert_array_equal(chosen(x, is_doubled=False), x + 1)
