"""Wrong versions of the arithmetic that checks witnesses."""

from tests.mutants.mutant import Mutant

CLAIMS = "polysched.legality.verdicts.witness_check"
END = "polysched.legality.verdicts.witness_end"
ARITHMETIC = "polysched.legality.verdicts.arithmetic"
WITNESSES = ("tests/legality/verdicts/test_witness_check.py",)

MUTANTS = (
    Mutant(
        "witness-printed-unchecked",
        "a witness is printed though arithmetic does not confirm it",
        "polysched.legality.check",
        "_judged",
        """
            if doubt:
                return Verdict(
                    VerdictKind.UNKNOWN, reason=_unconfirmed(violation, doubt), doubted=violation
                )
        """,
        """
            if doubt and violation is None:
                return Verdict(
                    VerdictKind.UNKNOWN, reason=_unconfirmed(violation, doubt), doubted=violation
                )
        """,
        WITNESSES,
    ),
    Mutant(
        "witness-of-any-context",
        "the context of a witness is not checked",
        CLAIMS,
        "unconfirmed",
        "not holds(program.kernel.context, (), sizes)",
        "not holds(program.kernel.context, (), sizes) and not sizes",
        WITNESSES,
    ),
    Mutant(
        "witness-outside-its-domain",
        "an instance of a witness need not be in its domain",
        END,
        "End.doubts",
        "not lives(alive, self.variables)",
        "not lives(alive, self.variables) and not runs",
        WITNESSES,
    ),
    Mutant(
        "witness-at-any-time",
        "the times that a witness shows are not checked",
        END,
        "_shows",
        "[*shown] == values",
        "len(shown) == len(values)",
        WITNESSES,
    ),
    Mutant(
        "witness-of-any-element",
        "an instance of a witness may touch another element",
        ARITHMETIC,
        "touches",
        "tuple(number(index, variables) for index in access.subscripts) == element",
        "len(access.subscripts) == len(element)",
        WITNESSES,
    ),
    Mutant(
        "witness-may-be-anywhere",
        "where an element depends on data it may be any",
        ARITHMETIC,
        "touches",
        "bool(hit.any())",
        "True",
        WITNESSES,
    ),
    Mutant(
        "witness-in-another-byte",
        "two elements of one row are taken to share a byte",
        CLAIMS,
        "_in_one_byte",
        "row != second_row or own.stop <= others.start or others.stop <= own.start",
        "row != second_row",
        WITNESSES,
    ),
    Mutant(
        "witness-in-order",
        "a pair that the schedule keeps in order is taken for one that it does not",
        CLAIMS,
        "_backwards",
        "parted[1] < parted[2]",
        "False",
        WITNESSES,
    ),
    Mutant(
        "witness-of-another-kind",
        "two instances at once need not be in a loop of that kind",
        CLAIMS,
        "_together",
        "_kind(parted[0]) is not kind",
        "False",
        WITNESSES,
    ),
    Mutant(
        "witness-read-in-time",
        "a read before the write is taken to be spoilt by it",
        CLAIMS,
        "_overwritten",
        "_comes_first(source, sink)",
        "_comes_first(source, sink) and _comes_first(sink, source)",
        WITNESSES,
    ),
    Mutant(
        "witness-spoils-nothing-yet",
        "a write before the value is made is taken to spoil it",
        CLAIMS,
        "_overwritten",
        "all(_comes_first(sink, writer) for writer in values)",
        "not values",
        WITNESSES,
    ),
    Mutant(
        "witness-inside",
        "an element inside of its array is taken to be outside",
        CLAIMS,
        "_outside",
        "all(0 <= index < extent for index, extent in zip(shown.element, shape, strict=True))",
        "shown.element is None",
        WITNESSES,
    ),
    Mutant(
        "doubt-no-finding",
        "the fuzzer counts a false witness as an unknown verdict",
        "polysched.fuzz.exploring",
        "_judged",
        "verdict.doubted is not None",
        "verdict.doubted is not None and verdict.is_legal",
        WITNESSES,
    ),
)
