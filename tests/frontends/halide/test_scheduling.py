"""The steps that directives become, in their order."""

from polysched.frontends.halide import Pipeline
from tests.frontends.halide.algorithms import blur, convolution, tutorial, x, xi, xo, y


def test_the_steps_of_the_tutorial() -> None:
    conv, relu = convolution()
    tutorial(conv, relu)
    assert Pipeline(relu).schedule([128, 100, 80, 5]).trace().splitlines() == [
        "split(loop='relu.c', factor=64, into=('co', 'ci'))",
        "split(loop='relu.x', factor=5, into=('xo', 'xi'))",
        "reorder(order=('relu.co', 'relu.n', 'relu.y', 'relu.xo', 'relu.xi', 'relu.ci'))",
        "compute_at(producer='conv', at='relu.xo', recompute=True)",
        "reorder(order=('conv_update.r_z', 'conv_update.r_y', 'conv_update.r_x', "
        "'conv_update.x', 'conv_update.c'))",
        "vectorize(loop='relu.ci', lanes=16)",
        "unroll(loop='relu.ci')",
        "unroll(loop='relu.xi')",
        "vectorize(loop='conv_init.c', lanes=16)",
        "unroll(loop='conv_init.c')",
        "unroll(loop='conv_init.x')",
        "vectorize(loop='conv_update.c', lanes=16)",
        "unroll(loop='conv_update.c')",
        "unroll(loop='conv_update.x')",
        "unroll(loop='conv_update.r_x', factor=2)",
    ]


def test_a_directive_before_a_shaping_one_keeps_its_place() -> None:
    _, down, _ = blur()
    down.unroll(y, 2).split(x, xo, xi, 8).vectorize(xi)
    assert Pipeline(down).schedule([32, 8]).trace().splitlines() == [
        "unroll(loop='down.y', factor=2)",
        "split(loop='down.x', factor=8, into=('xo', 'xi'))",
        "vectorize(loop='down.xi', lanes=8)",
    ]
