"""Wrong versions of the arithmetic that checks witnesses."""

from tests.mutants.mutant import Mutant

CLAIMS = "polysched/legality/verdicts/witness_check.py"
END = "polysched/legality/verdicts/witness_end.py"
ARITHMETIC = "polysched/legality/verdicts/arithmetic.py"
WITNESSES = ("tests/legality/verdicts/test_witness_check.py",)

MUTANTS = (
    Mutant(
        "witness-printed-unchecked",
        "a witness is printed though arithmetic does not confirm it",
        "polysched/legality/check.py",
        "    if doubt:\n",
        "    if doubt and violation is None:\n",
        WITNESSES,
    ),
    Mutant(
        "witness-of-any-context",
        "the context of a witness is not checked",
        CLAIMS,
        "if not holds(program.kernel.context, (), sizes):",
        "if not holds(program.kernel.context, (), sizes) and not sizes:",
        WITNESSES,
    ),
    Mutant(
        "witness-outside-its-domain",
        "an instance of a witness need not be in its domain",
        END,
        "if not lives(alive, self.variables):",
        "if not lives(alive, self.variables) and not runs:",
        WITNESSES,
    ),
    Mutant(
        "witness-at-any-time",
        "the times that a witness shows are not checked",
        END,
        "return shown is not None and [*shown] == values",
        "return shown is not None and len(shown) == len(values)",
        WITNESSES,
    ),
    Mutant(
        "witness-of-any-element",
        "an instance of a witness may touch another element",
        ARITHMETIC,
        "return tuple(number(index, variables) for index in access.subscripts) == element",
        "return len(access.subscripts) == len(element)",
        WITNESSES,
    ),
    Mutant(
        "witness-may-be-anywhere",
        "where an element depends on data it may be any",
        ARITHMETIC,
        "    return bool(hit.any())",
        "    return True",
        WITNESSES,
    ),
    Mutant(
        "witness-in-another-byte",
        "two elements of one row are taken to share a byte",
        CLAIMS,
        "if row != second_row or own.stop <= others.start or others.stop <= own.start:",
        "if row != second_row:",
        WITNESSES,
    ),
    Mutant(
        "witness-in-order",
        "a pair that the schedule keeps in order is taken for one that it does not",
        CLAIMS,
        "if parted is None or parted[1] < parted[2] or _loop(parted[0]) != violation.loop:",
        "if parted is None or _loop(parted[0]) != violation.loop:",
        WITNESSES,
    ),
    Mutant(
        "witness-of-another-kind",
        "two instances at once need not be in a loop of that kind",
        CLAIMS,
        "if parted is None or _loop(parted[0]) != violation.loop or _kind(parted[0]) is not kind:",
        "if parted is None or _loop(parted[0]) != violation.loop:",
        WITNESSES,
    ),
    Mutant(
        "witness-read-in-time",
        "a read before the write is taken to be spoilt by it",
        CLAIMS,
        "    if _comes_first(source, sink):\n",
        "    if _comes_first(source, sink) and _comes_first(sink, source):\n",
        WITNESSES,
    ),
    Mutant(
        "witness-spoils-nothing-yet",
        "a write before the value is made is taken to spoil it",
        CLAIMS,
        "if values is not None and all(_comes_first(sink, writer) for writer in values):",
        "if values is not None and not values:",
        WITNESSES,
    ),
    Mutant(
        "witness-inside",
        "an element inside of its array is taken to be outside",
        CLAIMS,
        "if all(0 <= index < extent for index, extent in zip(shown.element, shape, strict=True)):",
        "if shown.element is None:",
        WITNESSES,
    ),
    Mutant(
        "doubt-no-finding",
        "the fuzzer takes a witness that is none for a verdict it does not know",
        "polysched/fuzz/exploring.py",
        "    if verdict.doubted is not None:\n",
        "    if verdict.doubted is not None and verdict.is_legal:\n",
        WITNESSES,
    ),
)
