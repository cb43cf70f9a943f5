from dataclasses import replace

import pytest

from polysched.bench.measure.race import Result
from polysched.bench.measure.speedup import (
    Speedup,
    by_peer,
    geometric_mean,
    geometric_means,
    over_each,
    over_fastest,
)
from polysched.errors import BenchError


def result(kernel: str, contestant: str, fraction: float) -> Result:
    return Result(kernel, contestant, fraction, 1.0, 1.0, 1, 0.0)


def test_ratios_are_to_the_fastest_peer() -> None:
    results = [
        result("x", "numpy", 0.25),
        result("x", "polysched", 0.5),
        result("x", "torch", 0.4),
        result("y", "polysched", 0.5),
    ]
    assert over_fastest(results) == (Speedup("x", "torch", 0.5 / 0.4),)
    assert over_fastest(results, ("numpy", "polysched")) == over_fastest(results)
    faster = [*results, result("x", "polysched other", 0.6), result("y", "torch", 0.25)]
    assert over_fastest(faster, ("polysched", "polysched other")) == (
        Speedup("x", "torch", 0.6 / 0.4, "polysched other"),
        Speedup("y", "torch", 0.5 / 0.25),
    )


def test_ratios_to_peers_that_are_held_back() -> None:
    own, numpy = result("x", "polysched", 0.6), result("x", "numpy", 0.3)
    slow, fast = (
        replace(result("x", "torch", rate), held_back="its kernels are narrow")
        for rate in (0.2, 0.4)
    )
    assert over_fastest([own, numpy, slow]) == (Speedup("x", "numpy", 0.6 / 0.3),)
    assert over_fastest([own, numpy, fast]) == (Speedup("x", "torch", 0.6 / 0.4, is_bound=True),)
    assert over_fastest([own, fast]) == ()


def test_ratios_to_each_peer() -> None:
    results = [
        result("a", "polysched", 0.6),
        result("a", "numpy", 0.2),
        replace(result("a", "torch", 0.3), held_back="its kernels are narrow"),
        result("a", "polysched, code alone", 0.9),
        result("b", "numpy", 0.1),
    ]
    found = over_each(results, ("numpy", "torch"))
    numpy = Speedup("a", "numpy", 0.6 / 0.2)
    torch = Speedup("a", "torch", 0.6 / 0.3, is_bound=True)
    assert found == (numpy, torch)
    assert by_peer([numpy, torch, numpy]) == [[numpy, numpy], [torch]]


def test_a_mean_is_geometric() -> None:
    assert geometric_mean([0.5, 8.0]) == pytest.approx(2)
    with pytest.raises(BenchError, match="no work was raced against a peer"):
        geometric_mean([])


def test_a_mean_for_each_contestant() -> None:
    speedups = [Speedup("a", "gcc", 2.0), Speedup("b", "gcc", 8.0), Speedup("a", "clang", 3.0)]
    assert geometric_means(speedups) == pytest.approx({"gcc": 4.0, "clang": 3.0})
