"""The script itself, on a tree of one function and one test."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.mutants.mutant import Mutant
from tests.mutants.run import BrokenRunError, Outcome, Workshop, main, markdown

FILES = {
    "polysched/__init__.py": "",
    "polysched/sums.py": "def total(a, b):\n    return a + b\n\n\ndef unused():\n    return 1\n",
    "polysched/fuzz/__init__.py": "",
    "polysched/fuzz/__main__.py": (
        "import sys\n\nfrom polysched.sums import unused\n\nsys.exit(unused() == 3)\n"
    ),
    "tests/test_sums.py": (
        "from polysched.sums import total\n\n\ndef test_total():\n    assert total(2, 3) == 5\n"
    ),
    "tests/test_other.py": "def test_nothing():\n    pass\n",
}


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Workshop(tmp_path, 0, 60, 1)


def mutant(find: str, replace: str, hint: str = "tests/test_sums.py") -> Mutant:
    return Mutant("m", "a mistake", "polysched.sums", "", find, replace, (hint,))


@pytest.mark.parametrize(
    ("made", "killed_by", "stage"),
    [
        (
            mutant("a + b", "a - b", "tests/test_other.py"),
            "tests/test_sums.py::test_total",
            "all tests",
        ),
        (mutant("return 1", "return 3"), "fuzzer", "fuzzer"),
    ],
)
def test_what_notices_a_mutant(
    workshop: Workshop, made: Mutant, killed_by: str | None, stage: str
) -> None:
    found = workshop.outcome(made)
    assert (found.killed_by, found.stage) == (killed_by, stage)
    assert found.seconds > 0
    assert (workshop.tree / made.file).read_text() == FILES[made.file]


def test_a_run_that_does_not_end_is_noticed(workshop: Workshop) -> None:
    slow = Workshop(workshop.tree, 0, 0.01, 1)
    assert slow.outcome(mutant("a + b", "a - b")).killed_by == "time"


def test_tests_that_cannot_run_are_no_proof(workshop: Workshop) -> None:
    with pytest.raises(BrokenRunError, match="pytest ended with status 4"):
        workshop.outcome(mutant("a + b", "a - b", "tests/test_missing.py"))
    with pytest.raises(BrokenRunError, match="holds this 0 times, expected once"):
        workshop.outcome(mutant("a * b", "a - b"))


def test_what_fails_without_a_mutant_notices_none(workshop: Workshop) -> None:
    (workshop.tree / "tests/test_other.py").write_text("def test_nothing():\n    assert False\n")
    with pytest.raises(BrokenRunError, match="without any mutant, tests/test_other.py::test_not"):
        workshop.outcome(mutant("return 1", "return 2"))


def test_the_table_says_what_survived() -> None:
    outcomes = [
        Outcome("one", "polysched.f", "first", "tests/test_a.py::test", "hinted tests", 1.26),
        Outcome("two", "polysched.f", "second", None, "fuzzer", 70.0),
    ]
    assert markdown(outcomes).splitlines() == [
        "| mutant | mistake | noticed by | s |",
        "| --- | --- | --- | --- |",
        "| one | first | tests/test_a.py::test | 1 |",
        "| two | second | **survived** | 70 |",
    ]


def test_unknown_names_are_refused() -> None:
    result = CliRunner().invoke(main, ["no-such-mutant"])
    assert result.exit_code == 2
    assert "no mutant 'no-such-mutant'; the names are anti-dropped, " in result.output
