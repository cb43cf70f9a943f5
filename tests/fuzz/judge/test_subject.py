import numpy as np

from polysched.fuzz.judge.subject import Subject, instance_count
from tests.legality.kernels import matmul, seidel


def test_sizes_are_spread() -> None:
    subject = Subject(matmul())
    values = (0, 1, 2, 3, 5, 7)
    assert subject.affordable(values, 200, 3) == [{"N": 1}, {"N": 3}, {"N": 5}]
    assert subject.affordable(values, 0, 3) == []


def test_two_parameters_take_different_values() -> None:
    sizes = Subject(seidel()).affordable((1, 3, 4, 5), 100, 9)
    assert sizes == [{"T": 1, "N": 4}, {"T": 3, "N": 5}, {"T": 5, "N": 3}]


def test_a_size_is_looked_at_once() -> None:
    subject = Subject(matmul())
    assert subject.small is subject.small
    assert subject.at({"N": 3}) is subject.at({"N": 3})
    assert subject.at({"N": 30}) is None
    run = subject.run({"N": 3})
    assert run is subject.run({"N": 3})
    assert run.arguments.keys() == {"A", "B", "C"}
    np.testing.assert_allclose(run.results["C"], run.arguments["A"] @ run.arguments["B"], rtol=1e-5)


def test_floats_are_positive() -> None:
    given = Subject(matmul()).run({"N": 9}).arguments["A"]
    assert 0.5 <= given.min() < 0.7
    assert 1.3 < given.max() <= 1.5


def test_instances_are_counted() -> None:
    assert instance_count(matmul(), {"N": 3}) == 9 + 27
