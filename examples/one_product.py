"""One product of matrices, written down in three notations: each is the same kernel.

A Python function that stays callable, MLIR's ``linalg.generic``, and ``einsum``. The first two are
scheduled by hand, with the same steps; the last one is planned.
"""

import numpy as np

import polysched as ps
from polysched.frontends import linalg


@ps.kernel(order="any")
def product(a: "f32[m, k]", b: "f32[k, n]", c: "f32[m, n]"):  # noqa: F821
    """Runs in plain Python, too: the reference."""
    m, n = c.shape
    k = len(b)
    for i in range(m):
        for j in range(n):
            with ps.statement("init"):
                c[i, j] = 0
    for i in range(m):
        for j in range(n):
            for p in range(k):
                with ps.statement("update"):
                    c[i, j] += a[i, p] * b[p, j]


def linalg_product() -> ps.Kernel:
    """The loops of ``(i, j, p)``, where the product is written at ``(i, j)``."""
    return linalg.generic(
        ["(i, j, p) -> (i, p)", "(i, j, p) -> (p, j)", "(i, j, p) -> (i, j)"],
        ["parallel", "parallel", "reduction"],
        lambda a, b, c: c + a * b,
        sizes={"i": "m", "j": "n", "p": "k"},
        start=0,
        order="any",
        names=["a", "b", "c"],
    )


def rows_of_vectors(kernel: ps.Kernel) -> ps.Schedule:
    """Rows of ``c`` in vectors of 16, with the sums of four vectors in registers."""
    (update,) = (one.name for one in kernel.statements.values() if one.reduction)
    return (
        ps.Schedule(kernel)
        .vectorize("init.j", 16)
        .split(f"{update}.j", 64, into=("jo", "ji"))
        .reorder(f"{update}.i", "jo", "p", "ji")
        .promote("c", at="jo", lanes=16)
        .vectorize("ji", 16)
        .unroll("ji")
    )


def main(m=200, n=300, k=100) -> None:
    """Compute the product in each notation and compare."""
    random = np.random.default_rng(0)
    a = random.integers(-4, 5, (m, k)).astype(np.float32)
    b = random.integers(-4, 5, (k, n)).astype(np.float32)
    expected = a @ b

    c = np.empty((m, n), np.float32)
    rows_of_vectors(product).compile()(a, b, c)
    assert np.array_equal(c, expected)
    assert np.array_equal(rows_of_vectors(linalg_product()).compile()(a, b), expected)
    assert np.array_equal(ps.einsum("ip,pj->ij", a, b), expected)
    product(a[:5, :6], b[:6, :7], corner := np.empty((5, 7), np.float32))
    assert np.array_equal(corner, a[:5, :6] @ b[:6, :7])
    print("three notations, one result")


if __name__ == "__main__":
    main()
