"""Wrong versions of the threads of parallel loops, and of what calls check."""

from tests.mutants.mutant import Mutant

TEAM = "polysched.runtime.thread_team"
SLEEP = "polysched.runtime.team_sleep"
PLACEMENT = "polysched.runtime.core_placement"
REGIONS = ("tests/runtime/test_thread_team.py",)
WAKING = ("tests/runtime/test_team_sleep.py",)
ON_CORES = ("tests/runtime/test_core_placement.py",)

MUTANTS = (
    Mutant(
        "sleeping-threads-stay-asleep",
        "the caller of a region wakes nobody",
        TEAM,
        "_MODULE",
        "br i1 %wakes, label %wake, label %run",
        "br label %run",
        WAKING,
        in_text=True,
    ),
    Mutant(
        "threads-are-woken-for-anything",
        "a region that one thread has done soon pays for waking another one",
        SLEEP,
        "_TEXT",
        "%is_worth_it = or i1 %may_be_long, %is_repeated",
        "%is_worth_it = or i1 %may_be_long, true",
        WAKING,
        in_text=True,
    ),
    Mutant(
        "threads-are-woken-for-long-work-only",
        "short regions that follow one another never have a second thread",
        SLEEP,
        "_TEXT",
        "%is_worth_it = or i1 %may_be_long, %is_repeated",
        "%is_worth_it = or i1 %may_be_long, false",
        WAKING,
        in_text=True,
    ),
    Mutant(
        "threads-wake-up-behind-the-caller",
        "a thread that was on the caller's core last is woken there",
        PLACEMENT,
        "_TEXT",
        "%must_move = or i1 %is_here, %is_woken",
        "%must_move = and i1 %is_here, false",
        ON_CORES,
        in_text=True,
    ),
    Mutant(
        "threads-stay-away",
        "a thread may never again be on a core that a caller was on",
        TEAM,
        "_MODULE",
        "call void @restore_affinity(ptr %team)",
        "%stays = add i32 %slots, 0",
        ON_CORES,
        in_text=True,
    ),
    Mutant(
        "caller-waits-for-nobody",
        "a region ends while threads are still at work",
        TEAM,
        "_MODULE",
        "%none_joined = icmp eq i32 %joined_workers, 0",
        "%none_joined = icmp ne i32 %joined_workers, -1",
        REGIONS,
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
        "polysched.runtime.plan",
        "overlaps",
        "a.is_written or b.is_written",
        "a.is_written and b.is_written",
        ("tests/runtime/test_plan.py",),
    ),
    Mutant(
        "teams-are-never-given-back",
        "a team serves one region only",
        TEAM,
        "_MODULE",
        "store atomic i32 0, ptr %occupied release, align 4",
        "store atomic i32 1, ptr %occupied release, align 4",
        REGIONS,
        in_text=True,
    ),
    Mutant(
        "slots-stay-open",
        "a caller that is done leaves its free worker slots open",
        TEAM,
        "_MODULE",
        "%left = atomicrmw and ptr %state, i32 -65536 acq_rel",
        "%left = atomicrmw and ptr %state, i32 -1 acq_rel",
        REGIONS,
        in_text=True,
    ),
)
