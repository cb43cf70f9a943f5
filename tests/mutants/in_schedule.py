"""Wrong versions of the steps."""

from tests.mutants.mutant import Mutant

PROMOTE = "polysched.schedule.primitives.promote"
FOOTPRINT = "polysched.schedule.buffers.footprint"
TRANSLATION = "polysched.schedule.buffers.translation"
PLACEMENT = "polysched.schedule.buffers.placement"
DIGITS = "polysched.schedule.buffers.delinearize"
LOWEST = "polysched.schedule.buffers.lowest"
LOWEST_TESTS = ("tests/schedule/buffers/test_lowest.py",)
FORWARDING = "polysched.simplify.forwarding"
PROMOTE_TESTS = ("tests/schedule/primitives/test_promote.py",)

MUTANTS = (
    Mutant(
        "copy-back-forgotten",
        "what is promoted of an inout array is written back only where the kernel reads it later",
        PROMOTE,
        "_read_later",
        "plan.array.role in (Role.OUTPUT, Role.INOUT)",
        "plan.array.role is Role.OUTPUT",
        ("tests/schedule/primitives/test_promote.py::test_updates_under_conditions",),
    ),
    Mutant(
        "stale-copy-in",
        "a value that another tile overwrites in between is not copied in",
        PROMOTE,
        "_read_before_written",
        "inside.subtract(foreign)",
        "inside",
        (
            "tests/schedule/primitives/test_promote.py::test_a_value_that_another_tile_overwrites_must_come_from_there",
        ),
    ),
    Mutant(
        "copy-in-by-any-writer",
        "an element that anything before has written is not copied in",
        PROMOTE,
        "_read_before_written",
        "plan.same_tile(dependence)",
        "dependence.relation",
        PROMOTE_TESTS,
    ),
    Mutant(
        "first-update-of-a-row",
        "an update that is free in its order is taken to come after another one of its tile",
        PROMOTE,
        "_read_before_written",
        "not dependence.reorderable",
        "True",
        (
            "tests/schedule/primitives/test_promote.py::test_every_update_that_may_come_first_finds_the_old_value",
        ),
    ),
    Mutant(
        "values-stay-in-the-tile",
        "a temporary is copied out only where it is read in the same tile",
        PROMOTE,
        "_read_later",
        "_leaving_tile(plan, flow)",
        "flow.relation.subtract(_leaving_tile(plan, flow))",
        ("tests/schedule/primitives/test_promote.py::test_block_and_in_it_registers",),
    ),
    Mutant(
        "outside-forgotten",
        "dependences between a tile and the rest of the program are dropped",
        TRANSLATION,
        "_moved",
        "result.append(outside)",
        "",
        ("tests/schedule/primitives/test_pack.py::test_packed_array_packed_again",),
    ),
    Mutant(
        "wrong-copy",
        "the sink of a dependence counts at the copy into the buffer, a write too",
        TRANSLATION,
        "_moved",
        "copy_in if end.position else copy_out",
        "copy_out if end is dependence.source else copy_in",
        (
            "tests/schedule/primitives/test_pack.py::test_the_array_must_not_be_written_before_its_tile_is_copied",
        ),
    ),
    Mutant(
        "copies-out-too-early",
        "nothing ties the copy out of a buffer to the writes before it",
        TRANSLATION,
        "_copy_dependences",
        "copy_out is not None and not is_read",
        "copy_out is not None and is_read",
        ("tests/schedule/primitives/test_promote.py::test_initialisation_inside",),
    ),
    Mutant(
        "copies-in-too-late",
        "nothing ties the reads of a buffer to the copy into it",
        TRANSLATION,
        "_copy_dependences",
        """
            added.append(
                Dependence(kind, name, Reference(copy_in.name, 0), reference, relation)
            )
        """,
        """
            if is_read:
                continue
            added.append(Dependence(kind, name, Reference(copy_in.name, 0), reference, relation))
        """,
        ("tests/schedule/primitives/test_pack.py", *PROMOTE_TESTS),
    ),
    Mutant(
        "partial-results-unstarted",
        "nothing ties the first value of a partial result to its updates",
        TRANSLATION,
        "_partial_dependences",
        "added.append(Dependence(kind, name, start, reference, relation, may=may))",
        "assert (kind, start) != (may, relation)",
        ("tests/schedule/primitives/test_rfactor.py",),
    ),
    Mutant(
        "partial-results-used-early",
        "nothing ties the combination of partial results to their updates",
        TRANSLATION,
        "_partial_dependences",
        "Dependence(DependenceKind.FLOW, name, reference, use, relation, may=may)",
        """
            Dependence(
                DependenceKind.FLOW,
                name,
                reference,
                use,
                relation.subtract(relation),
                may=may,
            )
        """,
        ("tests/schedule/primitives/test_rfactor.py",),
    ),
    Mutant(
        "buffer-too-small",
        "a buffer has one element less than the tile needs",
        FOOTPRINT,
        "extent",
        "highest + 1",
        "highest",
        ("tests/schedule/primitives/test_pack.py", *PROMOTE_TESTS),
    ),
    Mutant(
        "neutral-product",
        "a product starts from 0",
        "polysched.ir.expr.neutral",
        "_value",
        "1.0 if dtype.is_float else 1",
        "0.0 if dtype.is_float else 0",
        ("tests/ir/expr/test_neutral.py", "tests/loops/verify/test_sources.py"),
    ),
    Mutant(
        "neutral-maximum",
        "a maximum of floats starts from 0",
        "polysched.ir.expr.neutral",
        "_value",
        "-math.inf if dtype.is_float else dtype.lowest",
        "0.0 if dtype.is_float else dtype.lowest",
        ("tests/ir/expr/test_neutral.py", "tests/loops/verify/test_sources.py"),
    ),
    Mutant(
        "split-upwards",
        "ceil for floor: the chunks of a split begin one iteration early",
        "polysched.schedule.primitives.split",
        "split_loop",
        "value.scale_down_val(by).floor()",
        "value.scale_down_val(by).ceil()",
        ("tests/schedule/primitives/test_split.py",),
    ),
    Mutant(
        "collapse-overlaps",
        "one less than the inner extent: the pairs of a collapsed loop meet",
        "polysched.schedule.primitives.collapse",
        "collapse",
        "highest - lowest + 1",
        "highest - lowest",
        ("tests/schedule/primitives/test_collapse.py",),
    ),
    Mutant(
        "skew-the-other-way",
        "a skewed loop is hurried, not delayed",
        "polysched.schedule.primitives.skew",
        "skew",
        "value.add(outer.values[name].scale_val(factor))",
        "value.sub(outer.values[name].scale_val(factor))",
        ("tests/schedule/primitives/test_skew.py",),
    ),
    Mutant(
        "fused-backwards",
        "the second of two fused bodies runs first",
        "polysched.schedule.primitives.fuse",
        "fuse",
        "[first.body, second.body]",
        "[second.body, first.body]",
        ("tests/schedule/primitives/test_fuse.py",),
    ),
    Mutant(
        "computed-at-the-last-use",
        "a producer runs in the last iteration that uses its result",
        PLACEMENT,
        "first_use",
        "uses.lexmin()",
        "uses.lexmax()",
        ("tests/schedule/primitives/test_compute_at.py",),
    ),
    Mutant(
        "first-as-declared",
        "the consumer that is declared first is taken to run first",
        PLACEMENT,
        "_of_first_consumer",
        """
            if not flow.relation.intersect(earlier).is_empty():
                return None
        """,
        "del earlier",
        (
            "tests/schedule/buffers/test_placement.py",
            "tests/schedule/primitives/test_compute_at.py",
        ),
    ),
    Mutant(
        "digits-that-run-over",
        "<= for <: a digit may be as large as the next place counts for",
        DIGITS,
        "delinearized",
        "high - low >= stride",
        "high - low > stride",
        ("tests/schedule/buffers/test_delinearize.py",),
    ),
    Mutant(
        "digits-of-two-indices",
        "a floor of two indices is a digit",
        DIGITS,
        "_summands",
        "len(support) != 1",
        "not support",
        ("tests/schedule/buffers/test_delinearize.py",),
    ),
    Mutant(
        "least-outside-the-domain",
        "the least subscript of a tile is one that the domain does not have there",
        LOWEST,
        "_by_columns",
        "not domain.is_subset(domain.preimage_pw_multi_aff(moved))",
        "False",
        LOWEST_TESTS,
    ),
    Mutant(
        "least-in-another-tile",
        "the least subscript of a tile is one that another tile has",
        LOWEST,
        "_by_columns",
        "indices_of(column.value) & {*own} and column not in used",
        "column not in columns",
        LOWEST_TESTS,
    ),
    Mutant(
        "least-of-one-reference",
        "of several references that begin apart the first one counts",
        LOWEST,
        "lowest_by_indices",
        "all(other is guess or other.is_met_by(guess) for other in guesses)",
        "guess",
        LOWEST_TESTS,
    ),
    Mutant(
        "one-tile-is-another",
        "pairs in one tile count as pairs of two tiles",
        "polysched.schedule.buffers.buffering",
        "Buffering.other_tile",
        "partial(isl.Map.subtract, whole, same_tile)",
        "lambda: whole",
        ("tests/schedule/buffers/test_buffering.py",),
    ),
    Mutant(
        "runs-joined",
        "the first value of one run and the last of another make the length of a run",
        "polysched.schedule.core.program",
        "one_iteration",
        "iteration = iteration.intersect(_where(column, int(value.to_python())))",
        "",
        ("tests/schedule/primitives/test_unroll.py", "tests/schedule/buffers/test_lifetime.py"),
    ),
    Mutant(
        "copies-of-copies",
        "what is recomputed twice forgets which declared instances it stands for",
        "polysched.schedule.buffers.recompute",
        "recomputed",
        "name in program.recomputed",
        "name in ()",
        ("tests/schedule/buffers/test_recompute.py",),
    ),
    Mutant(
        "shared-values-privatized",
        "values that iterations share are taken for their own",
        "polysched.schedule.primitives.privatize",
        "_shared",
        "plan.same_tile(flow)",
        "relation",
        ("tests/schedule/primitives/test_privatize.py",),
    ),
    Mutant(
        "slots-shared-one-way",
        "of two elements in one slot only the later one is kept off the earlier one",
        "polysched.schedule.primitives.fold_storage",
        "_sharing",
        "element.lt_map(element).union(element.gt_map(element))",
        "element.gt_map(element)",
        ("tests/schedule/primitives/test_fold_storage.py",),
    ),
    Mutant(
        "slots-overwritten",
        "an element may be overwritten in its slot before it is read",
        "polysched.schedule.primitives.fold_storage",
        "_kept_apart",
        """
            (
                (DependenceKind.OUTPUT, write, root, earlier),
                (DependenceKind.ANTI, read, write, later),
            )
        """,
        "((DependenceKind.OUTPUT, write, root, earlier),)",
        ("tests/schedule/primitives/test_fold_storage.py",),
    ),
    Mutant(
        "vectors-in-vectors",
        "a producer comes with its vector loop into another vector loop",
        "polysched.schedule.primitives.compute_at",
        "_require_one_vector",
        "len(vectors) > 1",
        "len(vectors) > 2",
        ("tests/schedule/primitives/test_compute_at.py",),
    ),
    Mutant(
        "forwarded-past-a-scatter",
        "a store to an unknown element of a temporary is taken to change no forwarded value",
        FORWARDING,
        "Flows.reads_of",
        "any(dependence.may for dependence in self.dependences if dependence.array == array.name)",
        "False",
        ("tests/schedule/primitives/test_inline.py::test_simplified_hazards_keep_their_values",),
    ),
    Mutant(
        "forwarded-past-a-change",
        "an operand that changes before the read is taken to keep its value",
        FORWARDING,
        "Flows._changing",
        "not changes.intersect(before).is_empty()",
        "False",
        ("tests/schedule/primitives/test_inline.py::test_refused",),
    ),
    Mutant(
        "forwarded-sum-stays-a-sum",
        "an update stays a reduction although the forwarded value reads the sum",
        FORWARDING,
        "with_forwarded",
        "len(own) == 1",
        "own",
        (
            "tests/schedule/primitives/test_inline.py::test_a_simplified_definition_that_reads_the_sum_ends_the_reduction",
        ),
    ),
    Mutant(
        "forwarded-for-some-instances",
        "a read is replaced although only some of its instances see values of the statement",
        FORWARDING,
        "with_inlined",
        "kernel.statements[read.reader.statement].domain <= read.domain",
        "True",
        (
            "tests/schedule/primitives/test_inline.py::test_values_that_may_change_are_not_forwarded",
        ),
    ),
)
