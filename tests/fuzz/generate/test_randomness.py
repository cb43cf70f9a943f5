import random

from polysched.fuzz.generate.randomness import chance, choose, shuffled


def test_every_option_is_chosen() -> None:
    integers = random.Random(0).randint
    assert {choose(integers, "abc") for _ in range(60)} == set("abc")


def test_chances() -> None:
    integers = random.Random(0).randint
    assert 150 < sum(chance(integers, 1, 5) for _ in range(1000)) < 250
    assert not chance(integers, 0, 3)
    assert chance(integers, 3, 3)


def test_the_simplest_comes_of_the_smallest_integers() -> None:
    def lowest(low: int, high: int) -> int:
        return low

    assert choose(lowest, ["simple", "other"]) == "simple"
    assert not chance(lowest, 1, 2)


def test_shuffled() -> None:
    orders = {tuple(shuffled(random.Random(seed).randint, "abc")) for seed in range(60)}
    assert len(orders) == 6
    assert shuffled(random.Random(0).randint, []) == []
