"""A layer of a quantized model: rows of numbers times a matrix of 4-bit weights, in one call.

The weights of a group of 128 terms share a scale and a zero: ``weight = scale * (code - zero)``.
``ps.computed`` says so, and computes nothing; the product does. A few rows read every weight once,
so it becomes a number in a register. For many rows a panel of numbers is made in the cache, again
each once. Never is there an array of them, which would take eight times the memory.
"""

from functools import partial
from timeit import repeat

import numpy as np

import polysched as ps

GROUP = 128


def weights_of(codes, scale, zero) -> ps.Computed:
    """``scale[j, t // 128] * (codes[j, t] - zero[j, t // 128])``, the codes packed as ``u4``."""
    return ps.computed(
        lambda code, factor, offset: factor * (ps.cast(code, "f32") - ps.cast(offset, "f32")),
        ps.Input(ps.pack_bits(codes, "u4", rows="padded", overflow="raise"), "u4", codes.shape[1]),
        ps.Input(scale, block=(1, GROUP)),
        ps.Input(zero, block=(1, GROUP)),
    )


def main(n=4096, k=4096, counts=(1, 8, 128)) -> None:
    """Compare with numpy on the numbers themselves, for one row, a few and many."""
    random = np.random.default_rng(0)
    groups = -(-k // GROUP)
    codes = random.integers(0, 16, (n, k), dtype=np.uint8)
    scale = random.random((n, groups), dtype=np.float32)
    zero = random.integers(0, 16, (n, groups), dtype=np.uint8)
    bias = random.random(n, dtype=np.float32)
    group = np.arange(k) // GROUP
    numbers = scale[:, group] * (codes - zero[:, group].astype(np.float32))

    weights = weights_of(codes, scale, zero)
    for rows in counts:
        x = random.random((rows, k), dtype=np.float32)
        y = ps.matmul(x, weights.T, bias=bias, activation="relu")
        expected = np.maximum(x @ numbers.T + bias, 0)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
        for what, right in (("weights of 4 bits", weights), ("numbers of 32", numbers)):
            work = partial(ps.matmul, x, right.T, y, threads=1)
            seconds = min(repeat(work, number=1, repeat=20))
            print(f"{rows:4} rows by {what}: {1e6 * seconds:6.0f} us")


if __name__ == "__main__":
    main()
