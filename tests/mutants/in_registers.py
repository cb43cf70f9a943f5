"""Wrong versions of what stays in registers, and of vectors made of their neighbors."""

from tests.mutants.mutant import Mutant

SLOTS = "polysched.vector.passes.slots"
CLEARANCE = "polysched.vector.passes.clearance"
NEIGHBORS = "polysched.vector.passes.neighbors"
PLACES = (
    "tests/vector/passes/test_slots.py",
    "tests/vector/passes/test_promote.py",
    "tests/schedule/primitives/test_promote.py",
)
CLEAR = ("tests/vector/passes/test_clearance.py",)
OVERLAPS = ("tests/vector/passes/test_neighbors.py",)

MUTANTS = (
    Mutant(
        "clearance-last-iteration",
        "the last iteration of a loop is forgotten where places in registers have to stay clear",
        CLEARANCE,
        "_ends",
        "linear_form(bound, {}).plus(-1)",
        "linear_form(bound, {}).plus(-2)",
        CLEAR,
    ),
    Mutant(
        "clearance-of-one-lane",
        "of a vector in registers only the first element has to stay clear",
        SLOTS,
        "_is_clear",
        "extents[along] = slot.vector.count",
        "extents[along] = 1",
        PLACES,
    ),
    Mutant(
        "neighbor-on-the-other-side",
        "a vector is made of its neighbor moved the wrong way",
        NEIGHBORS,
        "_shuffled",
        "[count, *range(count - 1)] if step == 1 else [*range(1, count), count]",
        "[count, *range(count - 1)] if step == -1 else [*range(1, count), count]",
        OVERLAPS,
    ),
    Mutant(
        "clearance-of-the-first-element",
        "of a box in registers only the first element has to stay clear",
        CLEARANCE,
        "is_clear",
        "extent - 1",
        "0",
        CLEAR,
    ),
    Mutant(
        "clearance-that-touches",
        "<= for <: what comes just to a place in registers counts as clear of it",
        CLEARANCE,
        "_is_negative",
        "high < 0",
        "high <= 0",
        CLEAR,
    ),
    Mutant(
        "clearance-by-the-other-end",
        "of a loop the nearer end is taken for the farther one",
        CLEARANCE,
        "_is_negative",
        "factor > 0",
        "factor < 0",
        CLEAR,
    ),
    Mutant(
        "clearance-by-a-name-outside",
        "what is known of a name outside is taken to hold of the loop that has it",
        CLEARANCE,
        "is_clear",
        "name not in bound",
        "name",
        CLEAR,
    ),
    Mutant(
        "neighbors-of-any-row",
        "vectors of different rows are taken to lie in one",
        NEIGHBORS,
        "_row",
        "replace(address, constant=0)",
        "replace(address, constant=0, terms=(), scaled=())",
        OVERLAPS,
    ),
    Mutant(
        "neighbors-two-apart",
        "a vector two elements further counts as a neighbor",
        NEIGHBORS,
        "_runs",
        "displacement == runs[-1][-1] + 1",
        "displacement <= runs[-1][-1] + 2",
        OVERLAPS,
    ),
    Mutant(
        "neighbor-with-another-element",
        "the lane that a neighbor lacks is the element behind it",
        NEIGHBORS,
        "_shuffled",
        "_further(load, count - 1)",
        "_further(load, count)",
        OVERLAPS,
    ),
    Mutant(
        "neighbors-of-parts",
        "vectors of which some lanes do not run are made of each other too",
        NEIGHBORS,
        "_rewritten",
        "not isinstance(node.lanes.active, All)",
        "False",
        OVERLAPS,
    ),
)
