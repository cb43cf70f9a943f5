"""Wrong versions of what answers one question for many statements, and of a call's time."""

from tests.mutants.mutant import Mutant

ALIKE = "polysched.dependence.equivalence"
TABLE = "polysched.dependence.table"
MEMORY = "polysched.dependence.memory"
TABLE_TESTS = ("tests/dependence/test_table.py",)

MUTANTS = (
    Mutant(
        "statements-in-either-order-alike",
        "a pair of statements is like the pair in the other order",
        ALIKE,
        "_classes",
        "2 * before",
        "2",
        TABLE_TESTS,
    ),
    Mutant(
        "loop-values-alike",
        "pairs of statements are alike whatever values the loops around them give them",
        ALIKE,
        "pair_classes",
        "(*prefix, step.kind, reassociates, value)",
        "(*prefix, step.kind, reassociates)",
        TABLE_TESTS,
    ),
    Mutant(
        "loop-kinds-alike",
        "a dependence that a sequential loop keeps stands for one that lanes would break",
        ALIKE,
        "pair_classes",
        "(*prefix, step.kind, reassociates, value)",
        "(*prefix, reassociates, value)",
        TABLE_TESTS,
    ),
    Mutant(
        "domains-alike",
        "pairs of statements share an answer though the first ones have different domains",
        MEMORY,
        "_Analysis.__init__",
        "domains[:, None]",
        "0 * domains[:, None]",
        TABLE_TESTS,
    ),
    Mutant(
        "distances-alike",
        "references share an answer whatever the distance between their elements is",
        MEMORY,
        "_Analysis._touched",
        "constant = value.to_python()",
        "constant = 0",
        TABLE_TESTS,
    ),
    Mutant(
        "one-order-for-all",
        "a tree is asked for one dependence of each relation, not for each order of the ends",
        TABLE,
        "representatives",
        "distinct(dependences.orders[dependences.pattern_of], classes[ends])",
        "distinct(dependences.orders[dependences.pattern_of])",
        TABLE_TESTS,
    ),
    Mutant(
        "one-writer-for-all",
        "of the writes before a read one counts, though others write other elements",
        TABLE,
        "DependenceTable.with_sink",
        "into[distinct(self.pattern_of[into])[0]]",
        "into[:1]",
        TABLE_TESTS,
    ),
    Mutant(
        "bounds-of-one-array",
        "an access inside one array stands for the same access to a smaller one",
        "polysched.legality.checks.bounds",
        "bounds_violation",
        "(domain, by_position(statement, access), array.shape, array.tile)",
        "(domain, by_position(statement, access))",
        ("tests/legality/checks/test_bounds.py",),
    ),
    Mutant(
        "each-stage-has-the-time",
        "a call within a call begins with all of the time",
        "polysched.ir.isl.budget",
        "time_budget",
        """
            if _END.get() is not None:
                yield
                return
        """,
        "",
        ("tests/ir/isl/test_budget.py", "tests/test_lower.py"),
    ),
)
