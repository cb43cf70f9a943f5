"""Wrong versions of what stays in registers, and of vectors made of their neighbors."""

from tests.mutants.mutant import Mutant

SLOTS = "polysched/codegen/slots.py"
CLEARANCE = "polysched/codegen/clearance.py"
NEIGHBORS = "polysched/codegen/neighbors.py"
ACCESSES = "polysched/codegen/accesses.py"
PLACES = (
    "tests/codegen/test_slots.py",
    "tests/codegen/test_registers.py",
    "tests/schedule/primitives/test_promote.py",
)
CLEAR = ("tests/codegen/test_clearance.py",)
OVERLAPS = ("tests/codegen/test_neighbors.py",)

MUTANTS = (
    Mutant(
        "clearance-last-iteration",
        "the last iteration of a loop is forgotten where places in registers have to stay clear",
        CLEARANCE,
        "plus(LinearForm((), -1))",
        "plus(LinearForm((), -2))",
        CLEAR,
    ),
    Mutant(
        "clearance-of-one-lane",
        "of a vector in registers only the first element has to stay clear",
        SLOTS,
        "        extents[along] = slot.vector.count\n",
        "        extents[along] = 1\n",
        PLACES,
    ),
    Mutant(
        "neighbor-on-the-other-side",
        "a vector is made of its neighbor moved the wrong way",
        NEIGHBORS,
        "if step == 1 else [*range(1, count), count]",
        "if step == -1 else [*range(1, count), count]",
        OVERLAPS,
    ),
    Mutant(
        "clearance-of-the-first-element",
        "of a box in registers only the first element has to stay clear",
        CLEARANCE,
        "LinearForm((), extent - 1)",
        "LinearForm((), 0)",
        CLEAR,
    ),
    Mutant(
        "clearance-that-touches",
        "<= for <: what comes just to a place in registers counts as clear of it",
        CLEARANCE,
        "high is not None and high < 0",
        "high is not None and high <= 0",
        CLEAR,
    ),
    Mutant(
        "clearance-by-the-other-end",
        "of a loop the nearer end is taken for the farther one",
        CLEARANCE,
        "_ends(innermost, factor > 0)",
        "_ends(innermost, factor < 0)",
        CLEAR,
    ),
    Mutant(
        "clearance-by-a-name-outside",
        "what is known of a name outside is taken to hold of the loop that has it",
        CLEARANCE,
        "for name, ends in known.items() if name not in bound}",
        "for name, ends in known.items() if name}",
        CLEAR,
    ),
    Mutant(
        "neighbors-of-any-row",
        "vectors of different rows are taken to lie in one",
        NEIGHBORS,
        "return Contiguous(array, (offset.literal.terms, offset.scaled))",
        "return Contiguous(array, ())",
        OVERLAPS,
    ),
    Mutant(
        "neighbors-two-apart",
        "a vector two elements further counts as a neighbor",
        NEIGHBORS,
        "if runs and place == runs[-1][-1] + 1:",
        "if runs and place <= runs[-1][-1] + 2:",
        OVERLAPS,
    ),
    Mutant(
        "neighbor-with-another-element",
        "the lane that a neighbor lacks is the element behind it",
        ACCESSES,
        "_further(offset, lanes.count - 1)",
        "_further(offset, lanes.count)",
        OVERLAPS,
    ),
    Mutant(
        "neighbors-of-parts",
        "vectors of which some lanes do not run are made of each other too",
        ACCESSES,
        "if lanes.mask is not None or FEATURE not in self.features:",
        "if FEATURE not in self.features:",
        OVERLAPS,
    ),
)
