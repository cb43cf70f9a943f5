import islpy as isl

from polysched.ir.isl.smallest import SmallPoint, smallest_pair, smallest_point


def test_parameters_come_first() -> None:
    points = isl.Set("[N, M] -> { S[i, j] : N >= 3 and M > N and 2 <= i < N and i < j < M }")
    assert smallest_point(points) == SmallPoint((("N", 3), ("M", 4)), (2, 3))


def test_the_smallest_of_a_union() -> None:
    points = isl.Set("{ S[i, j] : i = 2 and 0 <= j < 5; S[i, j] : i = 1 and 8 <= j <= 9 }")
    assert smallest_point(points).values == (1, 8)


def test_existential_dimensions_are_respected() -> None:
    points = isl.Set("{ S[i] : exists k : i = 3k + 2 and i >= 3 }")
    assert smallest_point(points).values == (5,)


def test_without_a_least_value_small_numbers_are_taken() -> None:
    assert smallest_point(isl.Set("[N] -> { S[i] : i = N }")).values == (0,)
    assert smallest_point(isl.Set("{ S[i] : i <= -7 }")).values == (-7,)


def test_a_pair() -> None:
    pairs = isl.Map("[N] -> { S[i, j] -> T[k] : 1 <= i < N and j = i + 1 and k > j }")
    source, sink = smallest_pair(pairs)
    assert source == SmallPoint((("N", 2),), (1, 2))
    assert sink == SmallPoint((("N", 2),), (3,))
