"""From an algorithm to a kernel: loops, arrays, roles."""

from polysched.frontends.halide import Pipeline
from polysched.ir.core.kernel import Role
from tests.frontends.halide.algorithms import convolution, product


def test_loops_of_definitions() -> None:
    _, relu = convolution()
    kernel = Pipeline(relu).kernel([128, 100, 80, 5])
    assert {name: one.indices for name, one in kernel.statements.items()} == {
        "conv_init": ("n", "y", "x", "c"),
        "conv_update": ("n", "y", "x", "c", "r_z", "r_y", "r_x"),
        "relu": ("n", "y", "x", "c"),
    }
    assert str(kernel.statements["conv_update"].target) == "conv[n, y, x, c]"


def test_arrays_and_their_roles() -> None:
    _, relu = convolution(16)
    kernel = Pipeline(relu).kernel(["co", "w", "h", "n_images"])
    assert {
        name: (array.role, ", ".join(map(str, array.shape)))
        for name, array in kernel.arrays.items()
    } == {
        "bias": (Role.INPUT, "co"),
        "filter": (Role.INPUT, "16, 3, 3, co"),
        "image": (Role.INPUT, "n_images, (h + 2), (w + 2), 16"),
        "conv": (Role.TEMPORARY, "n_images, h, w, co"),
        "relu": (Role.OUTPUT, "n_images, h, w, co"),
    }


def test_sizes_are_parameters_in_the_order_in_which_they_are_met() -> None:
    assert Pipeline(product("k")).kernel(["n", "m"]).parameters == ("n", "m", "k")
