"""The mutants fit the code: each anchor is found once, and each mistake is one."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

from tests.mutants.anchor import AnchorError, locate
from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parents[2]


def test_each_anchor_is_found_once_and_the_mistake_differs() -> None:
    assert [fault for mutant in MUTANTS if (fault := _fault(mutant))] == []


def _fault(mutant: Mutant) -> str | None:
    if not (ROOT / mutant.file).exists():
        return f"mutant '{mutant.name}': there is no module {mutant.module}"
    try:
        locate(_tree(mutant.file), mutant)
    except AnchorError as error:
        return str(error)
    return None


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text())


def test_hints_exist() -> None:
    files = {
        (mutant.name, hint.partition("::")[0])
        for mutant in MUTANTS
        for hint in mutant.hints or ("no hint",)
    }
    assert [(name, file) for name, file in sorted(files) if not (ROOT / file).exists()] == []


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(one.name for one in MUTANTS).items() if count > 1] == []
