"""Wrong versions of the generation and the simplification of loops, and of what judges them."""

from tests.mutants.mutant import Mutant

COVERAGE = "polysched/loops/analysis/coverage.py"
LINEAR = "polysched/ir/expr/linear.py"
EXECUTION = "polysched/loops/interpret/execution.py"
SEPARATION = "polysched/loops/isl_ast/separation.py"
FULL_RANGES = "polysched/loops/scan/full_ranges.py"
FULL_RANGES_TESTS = ("tests/loops/scan/test_full_ranges.py",)
SCANNED_TESTS = ("tests/loops/scan/test_scanning.py",)
SEPARATED = ("tests/loops/isl_ast/test_separation.py",)
GENERATE_TESTS = ("tests/loops/test_generate.py", "tests/schedule/primitives/test_split.py")
GUARDED_TESTS = ("tests/loops/isl_ast/test_guarded.py",)

MUTANTS = (
    Mutant(
        "guard-forgotten",
        "the last way runs an assignment without its condition",
        "polysched/loops/isl_ast/guarded.py",
        "        return assign if condition == Constant(True) else If(condition, assign)",
        "        return assign",
        GUARDED_TESTS,
    ),
    Mutant(
        "guarded-loop-one-short",
        "the loops of the last way end one iteration early",
        "polysched/loops/isl_ast/guarded.py",
        "reduce(minimum, lowers), reduce(maximum, uppers) + 1",
        "reduce(minimum, lowers), reduce(maximum, uppers)",
        GUARDED_TESTS,
    ),
    Mutant(
        "bounds-of-all-statements",
        "a loop of the last way ends where the first of its statements does",
        "polysched/loops/isl_ast/guarded.py",
        "reduce(maximum, uppers) + 1",
        "reduce(minimum, uppers) + 1",
        GUARDED_TESTS,
    ),
    Mutant(
        "last-iteration-lost",
        "< for <=: isl's loops end one iteration early",
        "polysched/loops/isl_ast/reader.py",
        "            return bound + 1",
        "            return bound",
        GENERATE_TESTS,
    ),
    Mutant(
        "extra-instances-accepted",
        "loops that run too many instances are accepted",
        COVERAGE,
        "    if not ran.is_equal(domain):",
        "    if not domain.is_subset(ran):",
        ("tests/loops/analysis/test_coverage.py",),
    ),
    Mutant(
        "repeated-instances-accepted",
        "loops that run an instance twice are accepted",
        COVERAGE,
        "        if not instances.is_injective():",
        "        if not instances.is_single_valued():",
        ("tests/loops/analysis/test_coverage.py",),
    ),
    Mutant(
        "second-copies-accepted",
        "instances that two parts of the loops run are accepted",
        COVERAGE,
        "        if not both.is_empty():",
        "        if both.is_equal(image) and both.is_empty():",
        ("tests/loops/analysis/test_coverage.py",),
    ),
    Mutant(
        "steps-not-read-back",
        "the step of a loop is forgotten when it is read back",
        "polysched/loops/analysis/conditions.py",
        "return ends if loop.step == 1 else (",
        "return ends if loop.step >= 1 else (",
        ("tests/loops/analysis/test_coverage.py",),
    ),
    Mutant(
        "else-under-the-same-mask",
        "the lanes of an else branch are those of the then branch",
        "polysched/loops/analysis/lanes.py",
        "result += _collected(loop, otherwise, (*mask, inverse))",
        "result += _collected(loop, otherwise, (*mask, condition))",
        ("tests/loops/analysis/test_lanes.py", "tests/loops/interpret/test_interpreter.py"),
    ),
    Mutant(
        "implied-by-more-than-is-known",
        "an inequality counts as implied though another demands less than what is left of it",
        FULL_RANGES,
        "rest.terms == other.terms and rest.constant >= other.constant",
        "rest.terms == other.terms",
        FULL_RANGES_TESTS,
    ),
    Mutant(
        "implied-by-itself",
        "an inequality counts as implied by itself",
        FULL_RANGES,
        "    if factor < 1 or remainder:",
        "    if remainder:",
        FULL_RANGES_TESTS,
    ),
    Mutant(
        "blocks-begin-early",
        "blocks begin where tiles that reach beyond them would have something to do",
        "polysched/loops/scan/ranges.py",
        "*(one.constant + limit for limit in limits)",
        "*(one.constant + limit for limit in limits[1:])",
        SCANNED_TESTS,
    ),
    Mutant(
        "vectors-split",
        "isl may cut a vector loop with holes into several, whose lanes do not run together",
        "polysched/loops/isl_ast/schedule_tree.py",
        "    if nest.loops[-1].kind is LoopKind.VECTOR:",
        "    if nest.loops[-1].kind is LoopKind.UNROLLED:",
        ("tests/schedule/primitives/test_vectorize.py::test_lanes_with_a_hole_run_together",),
    ),
    Mutant(
        "lifetimes-apart",
        "parts of a lifetime that may be one iteration's are taken to be of different ones",
        "polysched/loops/analysis/lifetimes.py",
        "if (low is not None and low > 0) or (high is not None and high < 0):",
        "if (low is not None and low >= 0) or (high is not None and high <= 0):",
        ("tests/loops/analysis/test_lifetimes.py",),
    ),
    Mutant(
        "minimum-too-early",
        "one too many: min(a, b) is taken for a although a may be b + 1",
        LINEAR,
        "    if high is not None and high <= 0:\n        return left if",
        "    if high is not None and high <= 1:\n        return left if",
        ("tests/ir/expr/test_linear.py",),
    ),
    Mutant(
        "less-or-equal-decided",
        "<= for <: a < b is taken to hold where a may equal b",
        LINEAR,
        "verdict = _decide(high is not None and high < 0, low is not None and low >= 0)",
        "verdict = _decide(high is not None and high <= 0, low is not None and low >= 0)",
        ("tests/ir/expr/test_linear.py",),
    ),
    Mutant(
        "last-value-unknown",
        "a loop's variable is taken to stop one short of its last value",
        "polysched/loops/ir/nodes.py",
        "return low, None if high is None else high - 1",
        "return low, None if high is None else high - 2",
        ("tests/loops/ir/test_nodes.py",),
    ),
    Mutant(
        "floor-of-a-sum",
        "the rest of a division is taken to be constant one number too early",
        LINEAR,
        "low // divisor == high // divisor:",
        "low // divisor == (high - 1) // divisor:",
        ("tests/ir/expr/test_linear.py",),
    ),
    Mutant(
        "lanes-in-turn",
        "the interpreter runs a vector loop lane by lane",
        EXECUTION,
        "            evaluated = [assignment.evaluate(lane) for lane in active]",
        "            evaluated = [None for _ in active]\n"
        "            for lane in active:\n"
        "                assignment.write(lane, assignment.evaluate(lane))\n"
        "            active = evaluated = []",
        ("tests/loops/interpret/test_interpreter.py",),
    ),
    Mutant(
        "contributions-repeat",
        "the last-writer run does not notice a contribution that comes twice",
        "polysched/loops/verify/sources.py",
        "                if there & added:",
        "                if there == added == frozenset():",
        ("tests/loops/verify/test_sources.py",),
    ),
    Mutant(
        "full-where-all-are-full",
        "tiles count as full only where every statement runs",
        SEPARATION,
        "one.full.union(other.full).subtract(partial)",
        "one.full.intersect(other.full)",
        SEPARATED,
    ),
    Mutant(
        "parallel-loops-cut",
        "full tiles are cut out of parallel loops too",
        SEPARATION,
        "if around[index].kind is LoopKind.PARALLEL:",
        "if around[index].kind is LoopKind.VECTOR:",
        SEPARATED,
    ),
    Mutant(
        "full-one-lane-early",
        "a vector counts as full without its last lane",
        SEPARATION,
        "low, high = 0, around[position].lanes - 1",
        "low, high = 0, around[position].lanes - 2",
        SEPARATED,
    ),
    Mutant(
        "full-at-the-innermost-loop",
        "whether a tile is full is decided at the innermost loop that can tell",
        SEPARATION,
        "for count, index in enumerate(deciding, start=1):",
        "for count, index in reversed(list(enumerate(deciding, start=1))):",
        SEPARATED,
    ),
    Mutant(
        "boxes-too-tight",
        "a lower bound is rounded down from a number one too large: a point is lost",
        "polysched/loops/scan/inequalities.py",
        "low = max(low, -(rest // coefficient))",
        "low = max(low, 1 - rest // coefficient)",
        ("tests/loops/scan/test_inequalities.py",),
    ),
    Mutant(
        "demands-seen-alone",
        "a loop is cut where one of two demands on a fixed loop can be told there",
        FULL_RANGES,
        "if any(not one.coefficient(depth) for one in binding):",
        "if not binding:",
        FULL_RANGES_TESTS,
    ),
    Mutant(
        "parts-overlap",
        "the iteration in which full tiles end belongs to two parts",
        FULL_RANGES,
        "return condition.negated().plus(-1)",
        "return condition.negated()",
        FULL_RANGES_TESTS,
    ),
    Mutant(
        "scanned-order",
        "of two branches the second one runs where the first one does",
        "polysched/loops/scan/scanned_context.py",
        "made.append(If(condition, body, otherwise))",
        "made.append(If(condition, body if otherwise is None else otherwise, otherwise))",
        SCANNED_TESTS,
    ),
)
