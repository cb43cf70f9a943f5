"""Wrong versions of what answers one question for many statements, and of a call's time."""

from tests.mutants.mutant import Mutant

ALIKE = "polysched/dependence/equivalence.py"
TABLE = "polysched/dependence/table.py"
MEMORY = "polysched/dependence/memory.py"
REPETITION = "polysched/loops/isl_ast/repetition.py"
TABLE_TESTS = ("tests/dependence/test_table.py",)
REPETITION_TESTS = ("tests/loops/isl_ast/test_repetition.py",)

MUTANTS = (
    Mutant(
        "statements-in-either-order-alike",
        "a pair of statements is like the pair in the other order",
        ALIKE,
        "* 3 + 2 * before",
        "* 3 + 2",
        TABLE_TESTS,
    ),
    Mutant(
        "loop-values-alike",
        "pairs of statements are alike whatever values the loops around them give them",
        ALIKE,
        "(*prefix, step.kind, numbers.up_to_names(step.values[name]))",
        "(*prefix, step.kind)",
        TABLE_TESTS,
    ),
    Mutant(
        "loop-kinds-alike",
        "a dependence that a sequential loop keeps stands for one that lanes would break",
        ALIKE,
        "(*prefix, step.kind, numbers.up_to_names(step.values[name]))",
        "(*prefix, numbers.up_to_names(step.values[name]))",
        TABLE_TESTS,
    ),
    Mutant(
        "domains-alike",
        "references share an answer though their statements have different domains",
        MEMORY,
        "form = self._numbers.of((domain, touched,",
        "form = self._numbers.of((touched,",
        TABLE_TESTS,
    ),
    Mutant(
        "distances-alike",
        "references share an answer whatever the distance between their elements is",
        MEMORY,
        "constant = value.to_python()\n",
        "constant = 0\n",
        TABLE_TESTS,
    ),
    Mutant(
        "one-order-for-all",
        "a tree is asked for one dependence of each relation, not for each order of the ends",
        TABLE,
        "distinct(dependences.orders[dependences.pattern_of], classes[ends])",
        "distinct(dependences.orders[dependences.pattern_of])",
        TABLE_TESTS,
    ),
    Mutant(
        "one-writer-for-all",
        "of the writes before a read one counts, though others write other elements",
        TABLE,
        "into[distinct(self.pattern_of[into])[0]].tolist()",
        "into[:1].tolist()",
        TABLE_TESTS,
    ),
    Mutant(
        "repeated-backwards",
        "neighbors that run alike run in the opposite order",
        "polysched/loops/isl_ast/reader.py",
        "for member in what.members]",
        "for member in reversed(what.members)]",
        REPETITION_TESTS,
    ),
    Mutant(
        "repetitions-of-other-loops",
        "a loop of another kind is generated as its neighbor",
        REPETITION,
        "key = (node.kind, node.lanes, node.transposition, inner)",
        "key = (inner,)",
        REPETITION_TESTS,
    ),
    Mutant(
        "bounds-of-one-array",
        "an access inside one array stands for the same access to a smaller one",
        "polysched/legality/checks/bounds.py",
        "by_position(statement, access), array.shape, array.tile)",
        "by_position(statement, access))",
        ("tests/legality/checks/test_bounds.py",),
    ),
    Mutant(
        "each-stage-has-the-time",
        "a call within a call begins with all of the time",
        "polysched/ir/isl/budget.py",
        "    if _END.get() is not None:\n        yield\n        return\n",
        "",
        ("tests/ir/isl/test_budget.py", "tests/test_lower.py"),
    ),
)
