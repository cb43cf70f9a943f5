"""Anchors are places in a syntax tree: how the source is written does not matter."""

import pytest

from tests.mutants.anchor import AnchorError, mutated
from tests.mutants.mutant import Mutant

SOURCE = '''
"""A module."""

_NAMES = {"one": 1, "two": 2}
_TEXT = """
  %pays = or i1 %first, %second
  %runs = or i1 %first, %third
"""


class Sum:
    """Both: a < b."""

    def total(self, a, b):
        """Compare a < b."""
        # a < b
        if (a  <
                b):
            self.count += 1
            return (b)
        return a

    def other(self, a, b):
        return a < b or b < a or a < b
'''


def _mutant(
    where: str, find: str, replace: str, *, index: int | None = None, in_text: bool = False
) -> Mutant:
    return Mutant(
        "m", "a mistake", "polysched.sums", where, find, replace, (), index=index, in_text=in_text
    )


@pytest.mark.parametrize(
    ("mutant", "expected"),
    [
        (_mutant("Sum.total", "a < b", "a <= b"), "if a <= b:"),
        (_mutant("Sum.total", "( a<b )  # why", "a >= b"), "if a >= b:"),
        (_mutant("Sum.other", "a < b", "False", index=1), "return a < b or b < a or False"),
        (
            _mutant("Sum.total", "self.count += 1\nreturn b", "return a"),
            "if a < b:\n            re",
        ),
        (_mutant("Sum.total", "self.count += 1", ""), "if a < b:\n            return b"),
        (_mutant("_NAMES", "2", "3"), "_NAMES = {'one': 1, 'two': 3}"),
        (_mutant("_TEXT", "%pays = or", "%pays = and", in_text=True), "%pays = and i1 %first"),
        (_mutant("", "self.count", "self.number"), "self.number += 1"),
    ],
)
def test_the_mistake_is_put_where_the_pattern_stands(mutant: Mutant, expected: str) -> None:
    before = SOURCE.replace("(a  <\n                b)", "a < b")
    assert mutated(SOURCE, mutant) == mutated(before, mutant)
    assert expected in mutated(SOURCE, mutant)
    assert expected not in SOURCE


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (_mutant("Sum.total", "a > b", "a"), "'Sum.total' in polysched/sums.py holds this 0 times"),
        (_mutant("Sum.other", "a < b", "a"), "holds this 2 times, expected once; the code has ch"),
        (_mutant("Sum.other", "a < b", "a", index=2), "2 times, expected at least 3 times"),
        (_mutant("Sum.some", "a < b", "a"), "polysched.sums does not define 'Sum.some'"),
        (_mutant("Sum.total", "a < b", "(a) < b"), "changes nothing"),
        (_mutant("_TEXT", "or i1", "and i1", in_text=True), "holds this 0 times"),
    ],
)
def test_what_is_no_anchor(mutant: Mutant, message: str) -> None:
    with pytest.raises(AnchorError, match=message):
        mutated(SOURCE, mutant)


@pytest.mark.parametrize(
    ("module", "file"),
    [
        ("polysched.legality.checks.order", "polysched/legality/checks/order.py"),
        ("polysched.frontends.scop.affine.loops", "frontends/scop/affine/loops.py"),
    ],
)
def test_the_file_of_a_module(module: str, file: str) -> None:
    assert Mutant("m", "a mistake", module, "", "a", "b", ()).file == file
