"""Wrong versions of how the shipped kernels choose their schedules: right results, slowly."""

from tests.mutants.mutant import Mutant

PLAN = "polysched.library.matmul.plan.planner"
PLANNED = ("tests/library/matmul/plan/test_planner.py",)
SHARING = "polysched.library.matmul.plan.work_partition"
SHARED = ("tests/library/matmul/plan/test_work_partition.py",)

MUTANTS = (
    Mutant(
        "a-batch-for-more-threads",
        "> for >=: as many products as threads are not shared among them",
        SHARING,
        "with_threads",
        "sizes.batch >= threads",
        "sizes.batch > threads",
        SHARED,
    ),
    Mutant(
        "uneven-parts",
        "the parts of the product need not be nearly as large as each other",
        SHARING,
        "with_threads",
        "work(grid) <= enough",
        "grid != enough",
        SHARED,
    ),
    Mutant(
        "transposed-b-where-it-lies",
        "a transposed b is packed only where it pays for others",
        PLAN,
        "_with_blocks",
        "pays or problem.transpose_b",
        "pays",
        PLANNED,
    ),
    Mutant(
        "streamed-from-the-cache",
        "b counts as coming from memory as soon as it exceeds the L2 cache",
        PLAN,
        "_is_streamed",
        "near_l3_bytes(machine)",
        "machine.cache_bytes(2)",
        PLANNED,
    ),
)
