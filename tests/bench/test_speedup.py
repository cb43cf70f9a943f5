import pytest

from polysched.bench.speedup import Speedup, geometric_mean, geometric_means
from polysched.errors import BenchError


def test_a_mean_is_geometric() -> None:
    assert geometric_mean([0.5, 8.0]) == pytest.approx(2)
    with pytest.raises(BenchError, match="no work was raced against a peer"):
        geometric_mean([])


def test_a_mean_for_each_contestant() -> None:
    speedups = [Speedup("a", "gcc", 2.0), Speedup("b", "gcc", 8.0), Speedup("a", "clang", 3.0)]
    assert geometric_means(speedups) == pytest.approx({"gcc": 4.0, "clang": 3.0})
