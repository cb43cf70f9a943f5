"""Wrong versions of the declaration and of the dependence analysis."""

from tests.mutants.mutant import Mutant

RELATIONS = "polysched/dependence/relations.py"
VALUES = "polysched/dependence/values.py"
DECLARATIONS = "polysched/ir/declarations.py"
TESTS = ("tests/legality/test_check.py", "tests/dependence")

MUTANTS = (
    Mutant(
        "anti-dropped",
        "anti dependences are not found",
        RELATIONS,
        "            return DependenceKind.ANTI",
        "            return None",
        TESTS,
    ),
    Mutant(
        "output-dropped",
        "output dependences are not found",
        RELATIONS,
        "            return DependenceKind.OUTPUT",
        "            return None",
        TESTS,
    ),
    Mutant(
        "flow-dropped",
        "flow dependences are not found",
        RELATIONS,
        "            return DependenceKind.FLOW",
        "            return None",
        TESTS,
    ),
    Mutant(
        "instances-depend-on-themselves",
        "<= for <: an instance comes before itself",
        RELATIONS,
        "times[source.statement].lex_lt_map(",
        "times[source.statement].lex_le_map(",
        TESTS,
    ),
    Mutant(
        "policy-ignored",
        "reductions that must keep the program's order are free in it",
        RELATIONS,
        "reduction is None or reduction.order is not Order.ANY or source",
        "reduction is None or source",
        TESTS,
    ),
    Mutant(
        "partial-values-seen",
        "other statements may run between the instances of a free reduction",
        RELATIONS,
        " or source.statement != sink.statement:",
        ":",
        TESTS,
    ),
    Mutant(
        "may-lost",
        "a dependence that depends on data is recorded as exact",
        RELATIONS,
        "may=source_access.is_data_dependent or sink_access.is_data_dependent",
        "may=source_access.is_data_dependent and sink_access.is_data_dependent",
        ("tests/dependence", "tests/legality/test_bounds.py"),
    ),
    Mutant(
        "unwritten-columns",
        "the columns of time after the first difference are forgotten",
        "polysched/ir/tree.py",
        "            return (values[statement], *time_columns(body, statement))",
        "            return (values[statement], *time_columns(body, statement)[:1])",
        TESTS,
    ),
    Mutant(
        "free-writes-end-values",
        "an instance of a free reduction is taken to overwrite what another one left",
        VALUES,
        "if not one.reorderable and not _may_overwrite(one)]",
        "if not _may_overwrite(one)]",
        ("tests/dependence/test_values.py",),
    ),
    Mutant(
        "may-writes-end-values",
        "a write that may go elsewhere is taken to overwrite",
        VALUES,
        "if not one.reorderable and not _may_overwrite(one)]",
        "if not one.reorderable]",
        ("tests/dependence/test_values.py",),
    ),
    Mutant(
        "self-reading-reductions",
        "a = a + f(a) counts as a reduction",
        DECLARATIONS,
        "    if any(load.array == target.array for load in loads(right)):",
        "    if own in loads(right):",
        ("tests/ir/test_statements.py", *TESTS),
    ),
    Mutant(
        "difference-from-the-right",
        "a = f - a counts as a reduction",
        DECLARATIONS,
        "        if right != own or value.operator is Operator.SUBTRACT:",
        "        if right != own:",
        ("tests/ir/test_statements.py", *TESTS),
    ),
    Mutant(
        "context-lost",
        "the domains of statements forget what is assumed of the parameters",
        "polysched/ir/statements.py",
        "        domain = statement.domain.intersect_params(context)",
        "        domain = statement.domain",
        ("tests/ir/test_statements.py", "tests/legality/test_bounds.py"),
    ),
    Mutant(
        "values-beyond-their-range",
        "<= for <: a subscript read from an array may be the upper end of its range",
        "polysched/ir/data_dependent.py",
        "to_set(value < upper, space)",
        "to_set(value <= upper, space)",
        ("tests/ir/test_data_dependent.py", "tests/legality/test_bounds.py"),
    ),
    Mutant(
        "values-unchecked-above",
        "<= for <: a call accepts the upper end of a range of values",
        "polysched/ir/value_range.py",
        "int(values.max()) < upper)",
        "int(values.max()) <= upper)",
        ("tests/ir/test_value_range.py", "tests/runtime/test_kernel.py"),
    ),
    Mutant(
        "modulo-as-division",
        "the remainder in a subscript is taken for the quotient",
        "polysched/ir/affine.py",
        "            return left.mod_val(value)",
        "            return left.scale_down_val(value).floor()",
        ("tests/ir/test_affine.py",),
    ),
)
