"""The mutants apply to the code as it is."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.run import mutated
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_applies_and_is_another_program(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()
    count = text.count(mutant.before)
    assert count == 1, (
        f"the text of mutant '{mutant.name}' occurs {count} times in {mutant.file}: the code has "
        f"changed, so change the mutant in tests/mutants; expected once:\n{mutant.before}"
    )
    changed = ast.dump(ast.parse(mutated(text, mutant)))
    assert changed != _dumped(mutant.file), "the mutant changes nothing"


@cache
def _dumped(file: str) -> str:
    return ast.dump(ast.parse((ROOT / file).read_text()))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_hints_exist(mutant: Mutant) -> None:
    assert mutant.hints
    assert [hint for hint in mutant.hints if not (ROOT / hint.partition("::")[0]).exists()] == []


def test_names_are_unique_and_there_are_enough() -> None:
    assert [name for name, count in Counter(one.name for one in MUTANTS).items() if count > 1] == []
    assert len(MUTANTS) >= 35
