"""Running order of contestants: balanced, so that no contestant keeps the same predecessor."""

from __future__ import annotations

from polysched.errors import BenchError


def running_order(contestants: int, round_number: int) -> tuple[int, ...]:
    """The order, as positions `0..contestants-1`, in which contestants run in a round.

    A contestant leaves its mark on the one after it: a warm or trashed cache, a lowered clock.
    A plain rotation would keep every neighbor, so the rows of a Williams square are used: over
    one cycle (`contestants` rounds if that is even, twice as many if odd) everyone runs in every
    position equally often and directly follows every other one equally often.

    Source: E. J. Williams, "Experimental designs balanced for the estimation of residual effects
    of treatments", Australian Journal of Scientific Research A2 (1949).
    """
    if contestants < 0 or round_number < 0:
        raise BenchError(
            f"running_order needs counts of at least 0, got {contestants} contestants and "
            f"round {round_number}"
        )
    if contestants == 0:
        return ()
    zigzag = [
        (step + 1) // 2 if step % 2 else (contestants - step // 2) % contestants
        for step in range(contestants)
    ]
    row = tuple((position + round_number) % contestants for position in zigzag)
    is_mirrored = contestants % 2 == 1 and round_number // contestants % 2 == 1
    return row[::-1] if is_mirrored else row
