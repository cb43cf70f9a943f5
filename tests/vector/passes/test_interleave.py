"""Stores of every n-th element that together are stores of whole vectors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import polysched as ps
from tests.library.transpose.fenced import fenced
from tests.support.differential import assert_agrees
from tests.support.effort import covering


def _pixels(parts: int, dtype: ps.DType, order: tuple[int, ...]) -> ps.Kernel:
    """Planes to pixels; a statement for each part of a pixel, in some order."""
    build = ps.KernelBuilder("pixels")
    n = build.parameter("n", minimum=0)
    planes = build.input("planes", dtype, (parts, n))
    out = build.output("out", dtype, (n, parts))
    with build.loops(i=n) as i:
        for part in order:
            out[i, part] = planes[part, i] + part
    return build.kernel()


@covering(
    1,
    order=[(0, 1), (1, 0), (2, 0, 1), (0, 1, 2, 3), (3, 1, 2, 0)],
    **{"dtype, lanes": [(ps.u8, 64), (ps.i16, 8), (ps.f32, 16)]},
)
def test_every_remainder(order: tuple[int, ...], dtype: ps.DType, lanes: int) -> None:
    parts = len(order)
    schedule = ps.Schedule(_pixels(parts, dtype, order)).vectorize("i", lanes)
    assert f"{parts * lanes}*i + {lanes}]) = shuffle" in schedule.show("vector")
    assert_agrees(schedule, *({"n": n} for n in (1, lanes - 1, lanes + lanes // 2)))
    run, choose = schedule.compile(), np.random.default_rng(lanes)
    for n, at_end in product((*range(lanes + 3), 3 * lanes - 1), (False, True)):
        keep, planes = fenced((parts, n), dtype.numpy(), at_end=at_end)
        kept, out = fenced((n, parts), dtype.numpy(), at_end=at_end)
        planes[:] = choose.integers(0, 100, (parts, n))
        run(planes, n=n, out=out)
        wanted = planes.T + np.arange(parts).astype(dtype.numpy())
        np.testing.assert_array_equal(out, wanted)
        del keep, kept


def _doubled(*, reads: bool, same_row: bool) -> ps.Kernel:
    """Four statements for two rows, of which the last may read or overwrite the first's result."""
    build = ps.KernelBuilder("doubled")
    n = build.parameter("n", minimum=1)
    x = build.input("x", ps.f32, (n, n))
    out = build.inout("out", ps.f32, (2 * n, 2 * n))
    with build.loops(y=n, i=n) as (y, i):
        out[2 * y, 2 * i] = x[y, i]
        out[2 * y + 1, 2 * i] = 2 * x[y, i]
        if same_row:
            out[2 * y, 2 * i] = 3 * x[y, i]
        out[2 * y, 2 * i + 1] = (out[2 * y, 2 * i] if reads else x[y, i]) + 1
        out[2 * y + 1, 2 * i + 1] = 4 * x[y, i]
    return build.kernel()


@pytest.mark.parametrize(("reads", "same_row", "joined"), [(0, 0, 2), (1, 0, 1), (0, 1, 1)])
def test_what_comes_between(reads: int, same_row: int, joined: int) -> None:
    kernel = _doubled(reads=bool(reads), same_row=bool(same_row))
    schedule = ps.Schedule(kernel).vectorize("i", 16)
    text = schedule.show("vector")
    full = text[: text.index("lanes 0")]
    assert full.count("= shuffle(out_joined") == 2 * joined
    assert_agrees(schedule, *({"n": n} for n in (1, 5, 16, 23, 33)))


def _blended(channels: int, before: int) -> ps.Kernel:
    """Update some channels of pixels in place by another channel of each pixel."""
    build = ps.KernelBuilder("blended")
    n = build.parameter("n", minimum=0)
    pixels = build.inout("pixels", ps.u8, (n, 4))
    with build.loops(i=n) as i:
        for channel in range(channels):
            read = pixels[i, channel if channel == 0 else channel - before]
            pixels[i, channel] = ps.cast(read // 2 + pixels[i, 3] // 4, ps.u8)
    return build.kernel()


@pytest.mark.parametrize(("before", "joined"), [(0, 4), (1, 0)])
def test_some_elements_of_each_vector(before: int, joined: int) -> None:
    """Three of four channels are stored under a mask, unless one needs the stored one before."""
    schedule = ps.Schedule(_blended(3, before)).vectorize("i", 16)
    text = schedule.show("vector")
    full = text[: text.index("lanes 0..")]
    assert full.count("lanes {0, 1, 2, 4, 5, 6, 8") == joined
    assert_agrees(schedule, *({"n": n} for n in (1, 15, 16, 37)))
    run, choose = schedule.compile(), np.random.default_rng(before)
    for n in (0, 1, 16, 31, 48):
        keep, pixels = fenced((n, 4), np.uint8, at_end=True)
        pixels[:] = choose.integers(0, 256, (n, 4))
        wanted = pixels.copy()
        for channel in range(3):
            read = wanted[:, channel if channel == 0 else channel - before]
            wanted[:, channel] = read // 2 + wanted[:, 3] // 4
        run(pixels, n=n)
        np.testing.assert_array_equal(pixels, wanted)
        del keep
