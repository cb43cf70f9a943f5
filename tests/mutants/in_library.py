"""Wrong versions of how the shipped kernels choose their schedules: right results, slowly."""

from tests.mutants.mutant import Mutant

PLAN = "polysched/library/matmul/plan.py"
PLANNED = ("tests/library/matmul/test_plan.py",)
SHARING = "polysched/library/matmul/work_partition.py"
SHARED = ("tests/library/matmul/test_work_partition.py",)

MUTANTS = (
    Mutant(
        "a-batch-for-more-threads",
        "> for >=: as many products as threads are not shared among them",
        SHARING,
        "    if sizes.batch >= threads:",
        "    if sizes.batch > threads:",
        SHARED,
    ),
    Mutant(
        "uneven-parts",
        "the parts of the product need not be nearly as large as each other",
        SHARING,
        "even = [grid for grid in grids if work(grid) <= enough]",
        "even = [grid for grid in grids if grid != enough]",
        SHARED,
    ),
    Mutant(
        "transposed-b-where-it-lies",
        "a transposed b is packed only where it pays for others",
        PLAN,
        "        pack_b=pays or problem.transpose_b,",
        "        pack_b=pays,",
        PLANNED,
    ),
    Mutant(
        "streamed-from-the-cache",
        "b counts as coming from memory as soon as it exceeds the L2 cache",
        PLAN,
        "is_distant = b_bytes > cache_bytes(machine, 3) // 2",
        "is_distant = b_bytes > cache_bytes(machine, 2) // 2",
        PLANNED,
    ),
)
