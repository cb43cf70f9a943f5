from dataclasses import replace
from itertools import count

import pytest

from polysched.bench.bandwidth import (
    Moved,
    bandwidth_table,
    copy_burst,
    moved,
    speedups,
)
from polysched.bench.race import Result
from polysched.bench.speedup import Speedup


def one(work: str, contestant: str, fraction: float) -> Moved:
    return Moved(work, contestant, fraction, 10.0, 20.0, 3, 0.0)


def test_a_burst_counts_each_byte_once() -> None:
    ticks = count()
    burst = copy_burst(1000, clock=lambda: next(ticks) * 0.001)
    assert burst() == pytest.approx(1000 / 0.001)


def test_results_of_races_become_bandwidths() -> None:
    result = Result("pack u4 256", "numpy", 0.5, 10.0, 20.0, 3, 0.0)
    assert moved(result) == one("pack u4 256", "numpy", 0.5)
    assert moved(replace(result, held_back="narrow")).held_back == "narrow"


def test_speedups_over_the_peers_of_the_same_work() -> None:
    results = [
        one("a", "own", 0.6),
        one("a", "peer", 0.2),
        one("a", "own, code alone", 0.9),
        one("b", "peer", 0.1),
    ]
    (found,) = speedups(results, "own", ("peer",))
    assert found == Speedup("a", "peer", pytest.approx(3.0), "own")


def test_there_is_no_ratio_to_a_peer_that_is_held_back() -> None:
    peer = replace(one("a", "peer", 0.2), held_back="its kernels are narrow")
    assert speedups([one("a", "own", 0.6), peer], "own", ("peer",)) == ()
    assert "| a | peer (held back) | 0.200 |" in bandwidth_table([peer])


def test_the_table_has_the_fastest_first() -> None:
    lines = bandwidth_table([one("a", "slow", 0.1), one("a", "fast", 0.7), one("b", "x", 1)])
    cells = [line.split(" | ")[:2] for line in lines.splitlines()[2:]]
    assert cells == [["| a", "fast"], ["| a", "slow"], ["| b", "x"]]
