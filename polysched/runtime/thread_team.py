"""Work-sharing thread team in LLVM IR: a caller waits only for workers that joined its region.

An OpenMP runtime is not enough. An OpenMP region ends when *every* thread of the team has reached
its end, including a thread that the system has not scheduled. A waiting OpenMP thread either spins,
which keeps other threads from the core, or sleeps, and waking it costs tens of microseconds. Both
happen often if other libraries in the process have threads too. In this team:

- A region has *worker slots*. A worker that comes in time takes a slot and joins. When the caller
  finds no more work, it removes the free slots and waits only for the workers that have joined.
- A worker without work polls for a few microseconds, then yields between polls (``sched_yield``).
  It sleeps (``futex``) after about a millisecond, or at once if another thread ran meanwhile.
- A waiting caller does the same but sleeps early. If the worker that it waits for is queued on
  another core behind a thread that only waits, the system then moves this worker to the caller's
  idle core.
- Sleeping workers are woken only if it pays (:mod:`polysched.runtime.team_sleep`), and never on
  the caller's core (:mod:`polysched.runtime.core_placement`).

The word ``state`` of a team holds the number of free slots in its lower half and the number of
joined workers in its upper half, so that one exchange checks that the region is open and takes a
slot. ``generation`` counts regions: a worker goes to sleep only if no region has begun since it
last looked. The caller increments ``generation`` before it reads ``sleepers``, and a worker
increments ``sleepers`` before the system compares ``generation``, so at least one of them sees the
other's change (U. Drepper, "Futexes Are Tricky", 2011). In the same way the caller marks itself as
sleeping before ``state`` is compared, and a worker that leaves changes ``state`` before it reads
this mark.

Concurrent callers get a team each, up to ``TEAMS``. Further callers work alone, which is correct
because any number of threads does all the work.
"""

from __future__ import annotations

from string import Template

from polysched.runtime.core_placement import WORKER, placement_text
from polysched.runtime.team_sleep import CALLER_YIELDS, POLLS, YIELDS, sleep_text

TEAMS = 16
"""Number of callers that can have workers at the same time."""

PARALLEL = "polysched_parallel"
"""The team's function, as :mod:`polysched.llvm.emit.regions` describes it."""


def team_module() -> str:
    """The LLVM IR module that defines ``PARALLEL``, for Linux on x86-64."""
    module = _MODULE.substitute(
        parallel=PARALLEL, teams=TEAMS, caller_turns=POLLS + CALLER_YIELDS, turns=POLLS + YIELDS
    )
    return WORKER + module + sleep_text() + placement_text()


_MODULE = Template("""
; state: free slots + 65536 * joined workers; generation; sleepers; occupied; started workers;
; whether the caller sleeps; work; task; the worker started last; of the last region: its work, its
; duration in nanoseconds, when it ended; when workers were last woken
%team = type { i32, i32, i32, i32, i32, i32, ptr, ptr, ptr, ptr, i64, i64, i64, [48 x i8] }

@teams = internal global [$teams x %team] zeroinitializer, align 128

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)

define void @$parallel(ptr %work, ptr %task, i32 %threads, i32 %flags) nounwind {
entry:
  br label %look

look:                                             ; for a team without a caller
  %at = phi i64 [ 0, %entry ], [ %after, %next ]
  %none = icmp eq i64 %at, $teams
  br i1 %none, label %alone, label %try
try:
  %team = getelementptr [$teams x %team], ptr @teams, i64 0, i64 %at
  %state = getelementptr %team, ptr %team, i32 0, i32 0
  %generation = getelementptr %team, ptr %team, i32 0, i32 1
  %sleepers = getelementptr %team, ptr %team, i32 0, i32 2
  %occupied = getelementptr %team, ptr %team, i32 0, i32 3
  %started_at = getelementptr %team, ptr %team, i32 0, i32 4
  %pair = cmpxchg ptr %occupied, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %grow, label %next
next:
  %after = add i64 %at, 1
  br label %look
alone:
  call void %work(ptr %task)
  ret void

grow:                                             ; start workers until there is one for each slot
  %slots = sub i32 %threads, 1
  %started = load i32, ptr %started_at
  %enough = icmp sge i32 %started, %slots
  br i1 %enough, label %open, label %launch
launch:
  %error = call i32 @start_worker(ptr %team)
  %refused = icmp ne i32 %error, 0                ; then the region has fewer workers
  br i1 %refused, label %open, label %one_more
one_more:
  %now = add i32 %started, 1
  store i32 %now, ptr %started_at
  br label %grow

open:
  %start = call i64 @clock()
  %work_at = getelementptr %team, ptr %team, i32 0, i32 6
  %task_at = getelementptr %team, ptr %team, i32 0, i32 7
  %caller_sleeps_at = getelementptr %team, ptr %team, i32 0, i32 5
  store ptr %work, ptr %work_at
  store ptr %task, ptr %task_at
  store atomic i32 %slots, ptr %state seq_cst, align 4
  %before = atomicrmw add ptr %generation, i32 1 seq_cst
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  %is_worth_it = call i1 @worth_waking(ptr %team, ptr %work, i64 %start)
  %wakes = and i1 %any, %is_worth_it
  call void @exclude_core(ptr %team, i1 %wakes)
  br i1 %wakes, label %wake, label %run
wake:
  %woken_at = getelementptr %team, ptr %team, i32 0, i32 12
  store i64 %start, ptr %woken_at
  call void @wake(ptr %generation, i32 %slots)
  br label %run
run:
  call void @restore_affinity(ptr %team)
  call void %work(ptr %task)
  %left = atomicrmw and ptr %state, i32 -65536 acq_rel
  br label %wait
wait:
  %turn = phi i32 [ 0, %run ], [ %next_turn, %waited ]
  %joined_workers = load atomic i32, ptr %state acquire, align 4
  %none_joined = icmp eq i32 %joined_workers, 0
  br i1 %none_joined, label %done, label %back_off
back_off:
  %gives_up = icmp uge i32 %turn, $caller_turns
  br i1 %gives_up, label %sleep, label %awake
awake:
  %later = call i32 @back_off(i32 %turn)
  br label %waited
sleep:
  store atomic i32 1, ptr %caller_sleeps_at seq_cst, align 4
  call void @sleep(ptr %state, i32 %joined_workers)
  store atomic i32 0, ptr %caller_sleeps_at seq_cst, align 4
  br label %waited
waited:
  %next_turn = phi i32 [ %later, %awake ], [ %turn, %sleep ]
  br label %wait
done:
  %last_work = getelementptr %team, ptr %team, i32 0, i32 9
  %took_at = getelementptr %team, ptr %team, i32 0, i32 10
  %ended_at = getelementptr %team, ptr %team, i32 0, i32 11
  %end = call i64 @clock()
  %took = sub i64 %end, %start
  store ptr %work, ptr %last_work
  store i64 %took, ptr %took_at
  store i64 %end, ptr %ended_at
  store atomic i32 0, ptr %occupied release, align 4
  ret void
}

define internal i32 @start_worker(ptr %team) nounwind {
  %thread = alloca i64
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @serve, ptr %team)
  %refused = icmp ne i32 %error, 0
  br i1 %refused, label %end, label %started
started:
  %handle = load i64, ptr %thread
  call i32 @pthread_detach(i64 %handle)
  br label %end
end:
  ret i32 %error
}

define internal ptr @serve(ptr %team) nounwind {  ; loop of a worker, without end
  %worker = alloca %worker, align 128
  call void @register_worker(ptr %team, ptr %worker)
  %core_at = getelementptr %worker, ptr %worker, i32 0, i32 2
  %state = getelementptr %team, ptr %team, i32 0, i32 0
  %generation = getelementptr %team, ptr %team, i32 0, i32 1
  %sleepers = getelementptr %team, ptr %team, i32 0, i32 2
  %work_at = getelementptr %team, ptr %team, i32 0, i32 6
  %task_at = getelementptr %team, ptr %team, i32 0, i32 7
  %caller_sleeps_at = getelementptr %team, ptr %team, i32 0, i32 5
  br label %idle
idle:
  %seen = load atomic i32, ptr %generation seq_cst, align 4
  br label %look
look:
  %turn = phi i32 [ 0, %idle ], [ %turn, %open ], [ %next_turn, %waited ]
  %old = load atomic i32, ptr %state seq_cst, align 4
  %slots = and i32 %old, 65535
  %closed = icmp eq i32 %slots, 0
  br i1 %closed, label %wait, label %open
open:
  %taken = add i32 %old, 65535                    ; one free slot less, one joined worker more
  %pair = cmpxchg ptr %state, i32 %old, i32 %taken acquire monotonic
  %joined = extractvalue { i32, i1 } %pair, 1
  br i1 %joined, label %run, label %look
run:
  %work = load ptr, ptr %work_at
  %task = load ptr, ptr %task_at
  call void %work(ptr %task)
  %left = atomicrmw sub ptr %state, i32 65536 seq_cst
  %caller_sleeps = load atomic i32, ptr %caller_sleeps_at seq_cst, align 4
  %any = icmp ne i32 %caller_sleeps, 0
  br i1 %any, label %tell, label %idle
tell:
  call void @wake(ptr %state, i32 1)
  br label %idle
wait:
  call void @report_core(ptr %worker)
  %gives_up = icmp uge i32 %turn, $turns
  br i1 %gives_up, label %sleep, label %back_off
back_off:
  %next_turn = call i32 @back_off(i32 %turn)
  br label %waited
waited:
  br label %look
sleep:
  store atomic i32 -1, ptr %core_at monotonic, align 4
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst
  call void @sleep(ptr %generation, i32 %seen)
  %after = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %idle
}
""")
