import pickle

import pytest

import polysched as ps
from polysched import errors
from polysched.errors import AssemblyError, MachineError, PolyschedError, suggestion
from tests.support import kernels


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("zenver4", ["znver4", "haswell"], "; did you mean 'znver4'?"),
        ("c", ["co", "ci", "x"], "; did you mean 'co' or 'ci'?"),
        ("row", ["rowa", "rowb", "rowc"], "; did you mean 'rowc', 'rowb' or 'rowa'?"),
        ("q", ["b", "a"], "; known are 'a', 'b'"),
        ("q", [], "; there are none"),
    ],
)
def test_suggestion(name: str, known: list[str], expected: str) -> None:
    assert suggestion(name, known) == expected


def test_all_errors_have_one_base_and_are_reachable() -> None:
    assert issubclass(MachineError, PolyschedError)
    assert issubclass(AssemblyError, PolyschedError)
    for name, error in vars(errors).items():
        if isinstance(error, type) and issubclass(error, Exception):
            assert getattr(ps, name) is error
            assert name in ps.__all__


def test_errors_can_be_pickled() -> None:
    """A process of a pool hands an error on."""
    schedule = ps.Schedule(kernels.prefix())
    for raising in (lambda: schedule.split("k", 4), lambda: schedule.reverse("i").compile()):
        with pytest.raises(ps.ScheduleError) as raised:
            raising()
        again = pickle.loads(pickle.dumps(raised.value))
        assert (type(again), str(again)) == (type(raised.value), str(raised.value))
        assert vars(again) == vars(raised.value)
