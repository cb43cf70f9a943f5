"""Wrong versions of the search for repairs: what it offers is no repair, or not the smallest."""

from tests.mutants.mutant import Mutant

REPAIR = "polysched.legality.repairs.repair"
REPAIRS = "polysched.legality.repairs.search"
SKEW = "polysched.legality.repairs.repair_skew"
SHIFT = "polysched.legality.repairs.repair_shift"
ORDER = "polysched.legality.repairs.repair_order"
VECTOR = "polysched.legality.repairs.repair_vector"
STORAGE = "polysched.legality.repairs.repair_storage"
COPIES = "polysched.legality.repairs.repair_copies"
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
        "_first_legal",
        "_keeps_order(changed.program) and check(changed, quota=QUESTION_QUOTA).is_legal",
        "_keeps_order(changed.program)",
        ("tests/legality/repairs/test_search.py", *STORAGE_TESTS),
    ),
    Mutant(
        "repair-in-addition",
        "steps that are replaced stay",
        REPAIR,
        "apply_edit",
        "first + edit.removed",
        "first",
        ("tests/legality/repairs/test_repair.py",),
    ),
    Mutant(
        "repair-beyond-its-limit",
        "more repairs than asked for",
        REPAIRS,
        "_tried",
        "len(complete) >= limit or not next(budget, False)",
        "not next(budget, False)",
        ("tests/legality/repairs/test_search.py",),
    ),
    Mutant(
        "skew-not-the-smallest",
        "of the factors that suffice the largest is taken",
        SKEW,
        "skew_factor",
        "least = 1",
        "least = sufficient",
        SKEW_TESTS,
    ),
    Mutant(
        "skew-too-small",
        "the distance in the loop outside is forgotten: -3 over 1 is mended by a factor of 1",
        SKEW,
        "skew_factor",
        "-(lowest // carried)",
        "1",
        SKEW_TESTS,
    ),
    Mutant(
        "shift-to-the-same-iteration",
        "a sink that stands before its source is shifted into the iteration of the source",
        SHIFT,
        "smallest_shifts",
        "-lowest + (order.index(sink) < order.index(source))",
        "-lowest",
        SHIFT_TESTS,
    ),
    Mutant(
        "shift-by-the-last-lag",
        "of several dependences between two statements the last decides",
        SHIFT,
        "smallest_shifts",
        "max(lag, lags.get((source, sink), lag))",
        "lag",
        SHIFT_TESTS,
    ),
    Mutant(
        "shift-of-the-next-alone",
        "shifts do not go on along chains of statements that stand in another order",
        SHIFT,
        "smallest_shifts",
        "len(order)",
        "1",
        SHIFT_TESTS,
    ),
    Mutant(
        "orders-unsorted",
        "other orders are tried as they come, not the nearest first",
        ORDER,
        "other_orders",
        "sorted(others, key=lambda order: _inversions(order, step.order))",
        "list(others)",
        ORDER_TESTS,
    ),
    Mutant(
        "tiles-of-one-loop",
        "a tile of one loop is offered",
        ORDER,
        "fewer_tiled_loops",
        "range(count - 1, 1, -1)",
        "range(count - 1, 0, -1)",
        ORDER_TESTS,
    ),
    Mutant(
        "strangers-freed",
        "reductions that have nothing to do with the witness are to combine in any order",
        ORDER,
        "free_reductions",
        "statement.target.array in concerned",
        "True",
        ORDER_TESTS,
    ),
    Mutant(
        "half-the-lanes-skipped",
        "a quarter of the lanes is the first that is tried",
        VECTOR,
        "fewer_lanes",
        "range(1, step.lanes.bit_length() - 1)",
        "range(2, step.lanes.bit_length() - 1)",
        ("tests/legality/repairs/test_repair_vector.py",),
    ),
    Mutant(
        "illegal-parts-become-vectors",
        "of a distributed loop every part becomes a vector",
        VECTOR,
        "_legal_parts",
        "keeps(executed(changed.tree), demanded(changed.dependences))",
        "changed.tree",
        ("tests/legality/repairs/test_repair_vector.py",),
    ),
    Mutant(
        "one-slot-skipped",
        "two slots more is the first size that is tried",
        STORAGE,
        "more_slots",
        "range(step.size + 1, step.size + 1 + ONE_BY_ONE)",
        "range(step.size + 2, step.size + 1 + ONE_BY_ONE)",
        STORAGE_TESTS,
    ),
    Mutant(
        "guilty-producer-left",
        "the guilty compute_at itself is not made to recompute",
        STORAGE,
        "recomputations",
        "case.index + 1",
        "case.index",
        STORAGE_TESTS,
    ),
    Mutant(
        "lanes-inside",
        "lanes with sums of their own stay inside the loop over vectors",
        COPIES,
        "_lanes_with_copies",
        """
            if shared.reductions:
                steps.append(Reorder((inner, outer)))
        """,
        """
            if not shared.reductions:
                steps.append(Reorder((inner, outer)))
        """,
        COPIES_TESTS,
    ),
    Mutant(
        "partial-results-apart",
        "the partial results of neighboring lanes lie rows apart",
        COPIES,
        "_side_by_side",
        "(*elements, own)",
        "own, *elements",
        COPIES_TESTS,
    ),
    Mutant(
        "sums-of-an-iteration-in-parts",
        "a temporary that holds the sum of one iteration gets partial results, never copies",
        COPIES,
        "_shared",
        "_Shared(outside, tuple(temporaries))",
        "_Shared(tuple(reductions), alone)",
        COPIES_TESTS,
    ),
)
