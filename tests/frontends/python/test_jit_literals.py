"""``ps.jit``: code for the literal sizes of small arguments, and for all sizes."""

import numpy as np

import polysched as ps


def weighted_rows(x, weights, width, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = weights[width - 1] * x[i, j]


def compile_for(function, rows: int, columns: int, width: int) -> None:
    x, weights, out = np.ones((rows, columns)), np.arange(float(width)), np.zeros((rows, columns))
    function(x, weights, width, out)
    np.testing.assert_array_equal(out, np.full((rows, columns), weights[-1]))


def test_small_sizes_beside_large_arrays_are_literals() -> None:
    function = ps.jit(weighted_rows)
    compile_for(function, 20, 3, 4)
    (first,) = function.signatures
    assert first.startswith("(x: f64[x_n0, 3], weights: f64[4], width = 4,")
    assert first.endswith("for x_n0 <= 64")
    compile_for(function, 30, 3, 4)
    assert function.signatures == (first,)


def test_other_literals_get_code_for_all_sizes() -> None:
    function = ps.jit(weighted_rows)
    compile_for(function, 100, 3, 4)
    compile_for(function, 100, 5, 6)
    assert "(x: f64[x_n0, x_n1], weights: f64[width_], width: int" in function.signatures[
        1
    ].replace("weights_n0", "width_")
    for columns, width in ((5, 7), (2, 3), (3, 4)):
        compile_for(function, 100, columns, width)
    assert len(function.signatures) == 2


def test_sizes_of_another_magnitude_get_code_of_their_own() -> None:
    function = ps.jit(weighted_rows)
    for rows in (20, 64, 65, 1000):
        compile_for(function, rows, 3, 4)
    assert len(function.signatures) == 2
    compile_for(function, 2**16, 3, 4)  # beyond the second-level cache
    assert function.signatures[2].endswith("with more than 131072 elements")


def test_small_arrays_alone_have_no_literals() -> None:
    function = ps.jit(weighted_rows)
    for rows in (2, 5, 16):
        compile_for(function, rows, 3, 4)
    assert len(function.signatures) == 1


def test_a_subscript_that_only_a_literal_makes_affine() -> None:
    @ps.jit
    def strided(x, step):
        for i in range(len(x) // 20):
            x[i * step] += 1

    for step in (2, 3, 5):
        x = np.zeros(100)
        strided(x, step)
        assert x.nonzero()[0].tolist() == [i * step for i in range(5)]
    assert [text.split(", ")[1][:8] for text in strided.signatures] == [
        "step = 2",
        "step = 3",
        "step = 5",
    ]
