"""Counts of instances: independent of the order of the indices, close to the exact number."""

from __future__ import annotations

from itertools import permutations

import islpy as isl
import pytest

from polysched.autoscheduler.facts.instance_count import instance_count

N = 300
TRIANGLES = {
    "0 <= j <= i < n and 0 <= k < 7": N * (N + 1) / 2 * 7,
    "0 <= k < i < n and k < j < n": (N - 1) * N * (2 * N - 1) / 6,
    "0 <= k < j < i < n": N * (N - 1) * (N - 2) / 6,
    "0 <= i < n and 0 <= j < n and i != j and k = i + j": N * (N - 1),
}


@pytest.mark.parametrize("condition", TRIANGLES)
def test_every_order_of_the_indices_gives_the_number_of_points(condition: str) -> None:
    for order in permutations("ijk"):
        domain = isl.Set(f"[n] -> {{ S[{', '.join(order)}] : {condition} }}")
        assert instance_count(domain, {"n": N}) == pytest.approx(TRIANGLES[condition], rel=0.02)


def test_a_box_is_counted_exactly() -> None:
    assert (
        instance_count(isl.Set("[n] -> { S[i, j] : 0 <= i < n and 3 <= j < 8 }"), {"n": N}) == 5 * N
    )
    assert instance_count(isl.Set("[n] -> { S[] : n > 2 }"), {"n": N}) == 1
