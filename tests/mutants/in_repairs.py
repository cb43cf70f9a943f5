"""Wrong versions of the search for repairs: what it offers is no repair, or not the smallest."""

from tests.mutants.mutant import Mutant

REPAIR = "polysched/legality/repairs/repair.py"
REPAIRS = "polysched/legality/repairs/search.py"
SKEW = "polysched/legality/repairs/repair_skew.py"
SHIFT = "polysched/legality/repairs/repair_shift.py"
ORDER = "polysched/legality/repairs/repair_order.py"
VECTOR = "polysched/legality/repairs/repair_vector.py"
STORAGE = "polysched/legality/repairs/repair_storage.py"
COPIES = "polysched/legality/repairs/repair_copies.py"
SKEW_TESTS = ("tests/legality/repairs/test_repair_skew.py",)
SHIFT_TESTS = ("tests/legality/repairs/test_repair_shift.py",)
ORDER_TESTS = ("tests/legality/repairs/test_repair_order.py",)
STORAGE_TESTS = ("tests/legality/repairs/test_repair_storage.py",)
COPIES_TESTS = ("tests/legality/repairs/test_repair_copies.py",)

MUTANTS = (
    Mutant(
        "repair-unproved",
        "a change that mends the order is offered, whatever it does to lanes' or buffers' memory",
        REPAIRS,
        "_keeps_order(changed.program) and check(changed, quota=QUESTION_QUOTA).is_legal:",
        "_keeps_order(changed.program):",
        ("tests/legality/repairs/test_search.py", *STORAGE_TESTS),
    ),
    Mutant(
        "repair-in-addition",
        "steps that are replaced stay",
        REPAIR,
        "return _replayed(changed, schedule, first + edit.removed)",
        "return _replayed(changed, schedule, first)",
        ("tests/legality/repairs/test_repair.py",),
    ),
    Mutant(
        "repair-beyond-its-limit",
        "more repairs than asked for",
        REPAIRS,
        "in strategies:\n        if len(complete) >= limit or not next(budget, False):",
        "in strategies:\n        if not next(budget, False):",
        ("tests/legality/repairs/test_search.py",),
    ),
    Mutant(
        "skew-not-the-smallest",
        "of the factors that suffice the largest is taken",
        SKEW,
        "    least = 1\n",
        "    least = sufficient\n",
        SKEW_TESTS,
    ),
    Mutant(
        "skew-too-small",
        "the distance in the loop outside is forgotten: -3 over 1 is mended by a factor of 1",
        SKEW,
        "sufficient = max(sufficient, -(lowest // carried))",
        "sufficient = max(sufficient, 1)",
        SKEW_TESTS,
    ),
    Mutant(
        "shift-to-the-same-iteration",
        "a sink that stands before its source is shifted into the iteration of the source",
        SHIFT,
        "lag = -lowest + (order.index(sink) < order.index(source))",
        "lag = -lowest",
        SHIFT_TESTS,
    ),
    Mutant(
        "shift-by-the-last-lag",
        "of several dependences between two statements the last decides",
        SHIFT,
        "lags[source, sink] = max(lag, lags.get((source, sink), lag))",
        "lags[source, sink] = lag",
        SHIFT_TESTS,
    ),
    Mutant(
        "shift-of-the-next-alone",
        "shifts do not go on along chains of statements that stand in another order",
        SHIFT,
        "    for _ in range(len(order)):",
        "    for _ in range(1):",
        SHIFT_TESTS,
    ),
    Mutant(
        "orders-unsorted",
        "other orders are tried as they come, not the nearest first",
        ORDER,
        "nearest = sorted(others, key=lambda order: _inversions(order, step.order))",
        "nearest = list(others)",
        ORDER_TESTS,
    ),
    Mutant(
        "tiles-of-one-loop",
        "a tile of one loop is offered",
        ORDER,
        "for size in range(count - 1, 1, -1):",
        "for size in range(count - 1, 0, -1):",
        ORDER_TESTS,
    ),
    Mutant(
        "strangers-freed",
        "reductions that have nothing to do with the witness are to combine in any order",
        ORDER,
        "        and statement.target.array in concerned\n",
        "",
        ORDER_TESTS,
    ),
    Mutant(
        "half-the-lanes-skipped",
        "a quarter of the lanes is the first that is tried",
        VECTOR,
        "for shift in range(1, step.lanes.bit_length() - 1)",
        "for shift in range(2, step.lanes.bit_length() - 1)",
        ("tests/legality/repairs/test_repair_vector.py",),
    ),
    Mutant(
        "illegal-parts-become-vectors",
        "of a distributed loop every part becomes a vector",
        VECTOR,
        "        if keeps(executed(changed.tree), demanded(changed.dependences)):",
        "        if changed.tree:",
        ("tests/legality/repairs/test_repair_vector.py",),
    ),
    Mutant(
        "one-slot-skipped",
        "two slots more is the first size that is tried",
        STORAGE,
        "list(range(step.size + 1, ",
        "list(range(step.size + 2, ",
        STORAGE_TESTS,
    ),
    Mutant(
        "guilty-producer-left",
        "the guilty compute_at itself is not made to recompute",
        STORAGE,
        "schedule.steps[: case.index + 1]",
        "schedule.steps[: case.index]",
        STORAGE_TESTS,
    ),
    Mutant(
        "lanes-inside",
        "lanes with sums of their own stay inside the loop over vectors",
        COPIES,
        "    if shared.reductions:\n        steps.append(Reorder((inner, outer)))",
        "    if not shared.reductions:\n        steps.append(Reorder((inner, outer)))",
        COPIES_TESTS,
    ),
    Mutant(
        "partial-results-apart",
        "the partial results of neighboring lanes lie rows apart",
        COPIES,
        "    return replace(step, order=(*elements, own))",
        "    return replace(step, order=(own, *elements))",
        COPIES_TESTS,
    ),
    Mutant(
        "sums-of-an-iteration-in-parts",
        "a temporary that holds the sum of one iteration gets partial results, never copies",
        COPIES,
        "ways = (_Shared(outside, tuple(temporaries)), _Shared(tuple(reductions), alone))",
        "ways = (_Shared(tuple(reductions), alone), _Shared(tuple(reductions), alone))",
        COPIES_TESTS,
    ),
)
