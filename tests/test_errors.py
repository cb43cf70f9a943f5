import pytest

from polysched.errors import AssemblyError, MachineError, PolyschedError, suggestion


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


def test_all_errors_have_one_base() -> None:
    assert issubclass(MachineError, PolyschedError)
    assert issubclass(AssemblyError, PolyschedError)
