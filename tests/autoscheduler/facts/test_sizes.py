import polysched as ps
from polysched.autoscheduler.facts.sizes import model_sizes
from tests.support import kernels


def window() -> ps.Kernel:
    """A filter of ``m`` terms, which fits ``n - m + 1`` times."""
    build = ps.KernelBuilder("window")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    x, y = build.input("x", ps.f32, (n,)), build.output("y", ps.f32, (n,))
    with build.loops(i=n - m + 1, j=m) as (i, j), build.statement("add"):
        y[i] += x[i + j]
    return build.kernel()


def test_a_loop_to_a_difference_of_sizes_has_iterations() -> None:
    assert model_sizes(window(), None) == {"n": 1000, "m": 125}
    assert model_sizes(window(), {"m": 31}) == {"n": 1000, "m": 31}
    assert model_sizes(window(), {"n": 50, "m": 50}) == {"n": 50, "m": 50}


def test_other_sizes_are_equal() -> None:
    assert model_sizes(kernels.matmul(), None) == {"n": 1000, "m": 1000, "k": 1000}
