"""A product whose left operand is stored in 8 bits: made numbers again where a block is packed.

What is multiplied in inference is often stored as ``codes[m, k]`` of int8 and one ``scale[m]`` for
each row. To convert all of it first writes and reads four times its bytes. Here the product's
schedule computes a block of it in the cache, in vectors, each element once for each packing, and
the checker proves that this is the same; ``polysched show examples/dequantized_matmul.py:tiled``.
"""

from timeit import repeat

import numpy as np

import polysched as ps
from polysched.library.matmul.kernel import declare as product
from polysched.library.matmul.kernel import operands
from polysched.library.matmul.plan import planner, problem
from polysched.library.matmul.schedule import build


def numbers(m, k):
    """What makes ``a[m,k]``: ``codes[m,k] * scale[m]``."""

    def declared(build):
        codes = build.input("codes", ps.i8, (m, k))
        scale = build.input("scale", ps.f32, (m,))
        return lambda row, term: ps.cast(codes[row, term], ps.f32) * scale[row]

    return operands.ComputedOperand(declared)


def dequantized(m=512, n=512, k=512) -> ps.Kernel:
    """``out[m,n] = sum over k of (codes[m,k] * scale[m]) * b[k,n]``."""
    return product.matmul_kernel(m, n, k, a=numbers(m, k))


def written(kernel: ps.Kernel) -> ps.Schedule:
    """(a) The program as it is written: all numbers first, then the product."""
    return ps.Schedule(kernel)


def tiled(kernel: ps.Kernel) -> ps.Schedule:
    """(b) The product's own plan for this machine, with the numbers computed where it packs."""
    machine = ps.load_machine(None)
    sizes = product.sizes_of(kernel)
    task = problem.Problem(sizes, a=numbers(sizes.m, sizes.k))
    return build.matmul_schedule(kernel, planner.plan(task, machine), machine)


def main(m=512, n=512, k=512) -> None:
    """Compare with numpy, and with a product of numbers that are there already."""
    random = np.random.default_rng(0)
    codes = random.integers(-128, 128, (m, k)).astype(np.int8)
    scale = random.random(m, dtype=np.float32)
    b = random.random((k, n), dtype=np.float32)
    a = codes * scale[:, None]
    expected = a @ b

    kernel = dequantized(m, n, k)
    print("\n".join(line for line in tiled(kernel).trace().splitlines() if "produce_a" in line))
    for make in (written, tiled):
        run = make(kernel).compile()
        np.testing.assert_allclose(run(codes, scale, b), expected, rtol=1e-3, atol=1e-2)
    out = np.empty_like(expected)
    for operand, work in (
        ("codes, made numbers where they are packed", lambda: run(codes, scale, b, out)),
        ("numbers that are there already", lambda: ps.matmul(a, b, out, threads=1)),
    ):
        seconds = min(repeat(work, number=1, repeat=5))
        print(f"a product of {operand}: {2e-9 * m * n * k / seconds:.1f} GFLOP/s")


if __name__ == "__main__":
    main()
