"""Wrong versions of the threads of parallel loops, and of what calls check."""

from tests.mutants.mutant import Mutant

OWN = "polysched.runtime.own_team"
WAITING = "polysched.runtime.team_waiting"
PLACES = "polysched.runtime.team_places"
THREADS = "polysched.runtime.threads"
SEATS = ("tests/runtime/test_own_team.py",)
WAKING = ("tests/runtime/test_team_waiting.py",)
ON_CORES = ("tests/runtime/test_team_places.py",)
CHILDREN = ("tests/runtime/test_threads.py",)

MUTANTS = (
    Mutant(
        "sleeping-threads-stay-asleep",
        "the caller of a region wakes nobody",
        OWN,
        "_MODULE",
        "br i1 %wakes, label %rouse, label %run",
        "br label %run",
        WAKING,
        in_text=True,
    ),
    Mutant(
        "threads-are-woken-for-anything",
        "a region that one thread has done soon pays for waking another one",
        WAITING,
        "_TEXT",
        "%pays = or i1 %may_be_long, %is_one_of_many",
        "%pays = or i1 %may_be_long, true",
        WAKING,
        in_text=True,
    ),
    Mutant(
        "threads-are-woken-for-long-work-only",
        "short regions that follow one another never have a second thread",
        WAITING,
        "_TEXT",
        "%pays = or i1 %may_be_long, %is_one_of_many",
        "%pays = or i1 %may_be_long, false",
        WAKING,
        in_text=True,
    ),
    Mutant(
        "threads-wake-up-behind-the-caller",
        "a thread that was on the caller's core last is woken there",
        PLACES,
        "_TEXT",
        "%is_wrong = or i1 %is_here, %is_woken",
        "%is_wrong = and i1 %is_here, false",
        ON_CORES,
        in_text=True,
    ),
    Mutant(
        "threads-stay-away",
        "a thread may never again be on a core that a caller was on",
        OWN,
        "_MODULE",
        "call void @let_back(ptr %team)",
        "%stays = add i32 %slots, 0",
        ON_CORES,
        in_text=True,
    ),
    Mutant(
        "caller-waits-for-nobody",
        "a region ends while threads are still at work",
        OWN,
        "_MODULE",
        "%nobody = icmp eq i32 %seated, 0",
        "%nobody = icmp ne i32 %seated, -1",
        SEATS,
        in_text=True,
    ),
    Mutant(
        "threads-lose-the-rest",
        "the iterations that do not divide among the chunks of a parallel loop are lost",
        "polysched.llvm.emit.regions",
        "Regions._work",
        'builder.zext(builder.icmp_signed("<", chunk, longer), INDEX)',
        "INDEX(0)",
        ("tests/schedule/primitives/test_parallel.py", "tests/llvm"),
    ),
    Mutant(
        "overlap-of-two-outputs-only",
        "an input that shares memory with an output is accepted",
        "polysched.runtime.overlap",
        "overlaps",
        "a.is_written or b.is_written",
        "a.is_written and b.is_written",
        ("tests/runtime/test_plan.py",),
    ),
    Mutant(
        "teams-are-never-given-back",
        "a team serves one region only",
        OWN,
        "_MODULE",
        "store atomic i32 0, ptr %occupied release, align 4",
        "store atomic i32 1, ptr %occupied release, align 4",
        SEATS,
        in_text=True,
    ),
    Mutant(
        "seats-stay-open",
        "a caller that is done leaves its seats to whoever comes later",
        OWN,
        "_MODULE",
        "%left = atomicrmw and ptr %state, i32 -65536 acq_rel",
        "%left = atomicrmw and ptr %state, i32 -1 acq_rel",
        SEATS,
        in_text=True,
    ),
    Mutant(
        "children-have-an-openmp-team",
        "a forked child uses the OpenMP runtime of its parent, whose threads it lacks",
        THREADS,
        "_team",
        "process == _first_process()",
        "process is not None",
        CHILDREN,
    ),
)
