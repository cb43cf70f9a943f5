"""Wrong versions of the threads of parallel loops, and of what calls check."""

from tests.mutants.mutant import Mutant

OWN = "polysched/runtime/own_team.py"
THREADS = "polysched/runtime/threads.py"
SEATS = ("tests/runtime/test_own_team.py",)
CHILDREN = ("tests/runtime/test_threads.py",)

MUTANTS = (
    Mutant(
        "sleeping-threads-stay-asleep",
        "the caller of a region wakes nobody",
        OWN,
        "br i1 %anyone, label %rouse, label %run",
        "br label %run",
        SEATS,
    ),
    Mutant(
        "caller-waits-for-nobody",
        "a region ends while threads are still at work",
        OWN,
        "%nobody = icmp eq i32 %seated, 0",
        "%nobody = icmp ne i32 %seated, -1",
        SEATS,
    ),
    Mutant(
        "threads-lose-the-rest",
        "the iterations that do not divide among the chunks of a parallel loop are lost",
        "polysched/codegen/regions.py",
        'is_longer = builder.zext(builder.icmp_signed("<", chunk, longer), INDEX)',
        "is_longer = INDEX(0)",
        ("tests/schedule/test_parallel.py", "tests/codegen"),
    ),
    Mutant(
        "overlap-of-two-outputs-only",
        "an input that shares memory with an output is accepted",
        "polysched/runtime/overlap.py",
        "        if a.is_written or b.is_written",
        "        if a.is_written and b.is_written",
        ("tests/runtime/test_plan.py",),
    ),
    Mutant(
        "teams-are-never-given-back",
        "a team serves one region only",
        OWN,
        "store atomic i32 0, ptr %occupied release, align 4",
        "store atomic i32 1, ptr %occupied release, align 4",
        SEATS,
    ),
    Mutant(
        "seats-stay-open",
        "a caller that is done leaves its seats to whoever comes later",
        OWN,
        "%left = atomicrmw and ptr %state, i32 -65536 acq_rel",
        "%left = atomicrmw and ptr %state, i32 -1 acq_rel",
        SEATS,
    ),
    Mutant(
        "children-have-an-openmp-team",
        "a forked child uses the OpenMP runtime of its parent, whose threads it lacks",
        THREADS,
        "is_first = process == _first_process()",
        "is_first = process is not None",
        CHILDREN,
    ),
)
