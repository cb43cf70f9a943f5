"""Wrong versions of what prepares loops for the emitter."""

from tests.mutants.mutant import Mutant

EXPAND = "polysched.vector.passes.unroll"
REGISTERS = "polysched.vector.passes.promote"
SLOTS = "polysched.vector.passes.slots"
UNROLLED = ("tests/vector/passes/test_unroll.py", "tests/schedule/primitives/test_unroll.py")
ACCUMULATORS = ("tests/vector/passes/test_promote.py", "tests/schedule/primitives/test_promote.py")
PLACES = ("tests/vector/passes/test_slots.py", *ACCUMULATORS)
TILES = "polysched.vector.passes.transpose_tiles"
COLUMNS = "polysched.vector.passes.columns"
TILE_MASKS = "polysched.vector.passes.tile_writing"
SHUFFLES = "polysched.vector.shuffle_network"
TRANSPOSED = (
    "tests/vector/passes/test_transpose_tiles.py",
    "tests/vector/passes/test_tile_masks.py",
)

MUTANTS = (
    Mutant(
        "windows-of-other-rows",
        "lanes whose distance is no literal are loaded as a window",
        "polysched.vector.classify",
        "lane_distances",
        "dict(form.terms) != terms",
        "False",
        ("tests/vector/test_classify.py", "tests/vector/passes/test_windows.py"),
    ),
    Mutant(
        "remainder-lost",
        "the last copy of an unrolled loop is lost",
        EXPAND,
        "_iterations",
        "range(0, longest, node.step)",
        "range(0, longest - 1, node.step)",
        UNROLLED,
    ),
    Mutant(
        "copies-unguarded",
        "the copies of an unrolled loop run beyond its end",
        EXPAND,
        "_runs",
        "(lower <= here) & (here < upper)",
        "lower <= here",
        UNROLLED,
    ),
    Mutant(
        "copies-end-late",
        "<= for <: an unrolled loop runs one copy more",
        EXPAND,
        "_runs",
        "here < upper",
        "here <= upper",
        UNROLLED,
    ),
    Mutant(
        "registers-not-stored",
        "accumulators are not written back after their loop",
        REGISTERS,
        "_Promoter._held",
        "held.after.append(_under(slots[slot], store))",
        "",
        ACCUMULATORS,
    ),
    Mutant(
        "registers-not-loaded",
        "accumulators are not read before their loop",
        REGISTERS,
        "_Promoter._held",
        "held.before.append(_under(slots[slot], load))",
        "",
        ACCUMULATORS,
    ),
    Mutant(
        "guarded-slots",
        "an element that is touched under a condition only is read and written all the same",
        SLOTS,
        "_Context.fixed_guards",
        "None if varies else self.guards",
        "() if varies else self.guards",
        PLACES,
    ),
    Mutant(
        "uncertain-slots",
        "an element in a loop that may not run is read and written all the same",
        SLOTS,
        "_Context.fixed_guards",
        "self.guards is None or not self.certain",
        "self.guards is None",
        PLACES,
    ),
    Mutant(
        "slots-of-empty-loops",
        "the accumulators of a loop that does not run are read and written all the same",
        REGISTERS,
        "_Promoter._loop",
        "whole = If(node.lower < node.upper, whole)",
        "pass",
        ("tests/vector/passes/test_promote.py",),
    ),
    Mutant(
        "slots-overlap",
        "vectors that share an element are taken to be apart",
        SLOTS,
        "_apart",
        "abs(difference) >= width",
        "abs(difference) >= width - 1",
        PLACES,
    ),
    Mutant(
        "slots-touched-elsewhere",
        "elements in registers are read and written in memory too",
        SLOTS,
        "find_slots",
        """
            not all(
                _is_clear(slot, touch, region.known, along)
                for touch in moving
                for slot in slots
            )
        """,
        """
            (
                moving is None
                and not all(
                    _is_clear(slot, touch, region.known, along)
                    for touch in moving
                    for slot in slots
                )
            )
        """,
        PLACES,
    ),
    Mutant(
        "threads-share-registers",
        "threads accumulate in registers of their parent",
        SLOTS,
        "_placed",
        "node.kind is LoopKind.PARALLEL",
        "node.kind is None",
        PLACES,
    ),
    Mutant(
        "tile-reads-what-is-written",
        "rows are loaded ahead of a copy that writes them",
        TILES,
        "_TransposePass._loads",
        "load.array not in written",
        "load.array",
        TRANSPOSED,
    ),
    Mutant(
        "tile-stores-what-is-read",
        "rows are stored after a copy that should have read them",
        TILES,
        "_TransposePass._store",
        "not is_read",
        "True",
        TRANSPOSED,
    ),
    Mutant(
        "tile-of-overlapping-rows",
        "rows that share elements are stored one after the other",
        COLUMNS,
        "Strided.rows_apart",
        "abs(steps.pop(self.along)) >= columns",
        "abs(steps.pop(self.along)) >= 0",
        TRANSPOSED,
    ),
    Mutant(
        "tile-of-any-columns",
        "copies that go to other rows make a tile",
        COLUMNS,
        "Strided.distance",
        "any(difference.terms or difference.constant for difference in differences)",
        "False",
        ("tests/vector/passes/test_columns.py",),
    ),
    Mutant(
        "tile-column-too-many",
        "a column is active behind the last copy that runs",
        TILE_MASKS,
        "column_mask",
        "number < distance",
        "number <= distance",
        TRANSPOSED,
    ),
    Mutant(
        "tile-row-too-many",
        "a row is loaded behind the last lane that runs",
        TILE_MASKS,
        "active_lanes",
        "at < loop.upper",
        "at <= loop.upper",
        TRANSPOSED,
    ),
    Mutant(
        "network-bits-swapped",
        "shuffles between blocks take neighboring blocks",
        SHUFFLES,
        "transpose_network",
        "(inside, lane_bits - 1)",
        "(lane_bits - 1, lane_bits - 1)",
        ("tests/vector/test_shuffle_network.py",),
    ),
)
