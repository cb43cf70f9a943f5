"""A matrix of 4-bit weights times a vector: bytes are read once and unpacked in registers.

Weights are stored as ``codes[m, k]`` of ``u4``, two in a byte, with a scale and a zero for each
group of 128 in a row, as quantized language models have them: ``weight = scale * (code - zero)``.
A row of 4096 weights takes 2 KiB instead of 16, and to read it is what a product with a vector
costs.
"""

from timeit import repeat

import numpy as np

import polysched as ps
from polysched.library import folding

GROUP = 128


def int4_gemv(m=4096, k=4096) -> ps.Kernel:
    """``y[i] = sum over t of scale[i, t // 128] * (codes[i, t] - zero[i, t // 128]) * x[t]``."""
    build = ps.KernelBuilder("int4_gemv")
    groups = -(-k // GROUP)
    codes = build.input("codes", "u4", (m, k), rows="padded")
    scale = build.input("scale", ps.f32, (m, groups))
    zero = build.input("zero", ps.u8, (m, groups))
    x = build.input("x", ps.f32, (k,))
    y = build.output("y", ps.f32, (m,), dimensions="at")
    with build.loops(row=m) as row:
        with build.statement("init"):
            y[row] = 0
        with build.loops(t=k) as t, build.statement("update", order="any"):
            group = t // GROUP
            code, offset = ps.cast(codes[row, t], ps.f32), ps.cast(zero[row, group], ps.f32)
            y[row] += scale[row, group] * (code - offset) * x[t]
    return build.kernel()


def in_registers(kernel: ps.Kernel) -> ps.Schedule:
    """A group at a time in 8 vectors of partial sums, which are added up at the end of a row."""
    vectors = folding.VECTORS
    return folding.in_vectors(ps.Schedule(kernel), "update", "t", GROUP // vectors, vectors)


def quantized(weights):
    """Codes from 0 to 15, and the scale and the zero of each group."""
    rows, length = weights.shape
    padded = np.pad(weights, ((0, 0), (0, -length % GROUP)))
    groups = padded.reshape(rows, -1, GROUP)
    lowest, highest = groups.min(-1), groups.max(-1)
    scale = np.maximum((highest - lowest) / 15, 1e-8).astype(np.float32)
    zero = np.clip(np.rint(-lowest / scale), 0, 15).astype(np.uint8)
    codes = np.rint(groups / scale[..., None]) + zero[..., None]
    return codes.clip(0, 15).astype(np.uint8).reshape(padded.shape)[:, :length], scale, zero


def main(m=4096, k=4096) -> None:
    """Compare with numpy on the same weights in float32, eight times as many bytes."""
    random = np.random.default_rng(0)
    codes, scale, zero = quantized(random.normal(size=(m, k)).astype(np.float32))
    x = random.normal(size=k).astype(np.float32)
    groups = np.arange(k) // GROUP
    weights = scale[:, groups] * (codes - zero[:, groups].astype(np.float32))

    run = in_registers(int4_gemv(m, k)).compile()
    packed = ps.pack_bits(codes, "u4", rows="padded", overflow="raise")
    y = run(packed, scale, zero, x)
    np.testing.assert_allclose(y, weights @ x, rtol=1e-4, atol=1e-3)

    for what, matrix, work in (
        ("weights of 4 bits", packed, lambda: run(packed, scale, zero, x, y)),
        ("numpy, of 32 bits", weights, lambda: weights @ x),
    ):
        seconds = min(repeat(work, number=1, repeat=20))
        print(f"{what}: {1e6 * seconds:.0f} us for {matrix.nbytes / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
