"""A team of threads of our own, in LLVM's language: it yields while it waits and waits for no one
who has nothing to do.

Why not an OpenMP runtime alone. A region of OpenMP ends when *every* thread of the team has come to
its end, one that the system never let run included; and a thread that waits either spins, which
keeps others from the core, or sleeps, which costs tens of microseconds to wake. In one process with
the threads of other libraries both happen at every turn. Here

- a region has *seats*. A thread that comes in time takes one; when the caller has found no more
  work it removes the seats that are left and waits only for those who sit;
- a thread without work looks for some for a few microseconds, then lets others have the core
  between two looks (``sched_yield``), and sleeps (``futex``) after about a millisecond, or at once
  when somebody else has run meanwhile;
- a caller that waits does the same but sleeps early: if the thread it waits for stands in line for
  another core, behind a thread that only waits as well, the system moves it to the idle one;
- who sleeps is woken where that pays (:mod:`polysched.runtime.team_waiting`), and never on the core
  that the caller is on (:mod:`polysched.runtime.team_places`).

The word ``state`` of a team holds both numbers, seats in its lower half and seated threads in its
upper half, so that one exchange tells whether a region is open and takes the seat. ``generation``
counts regions: a thread goes to sleep only if none has begun since it looked last. The caller
counts it up before it reads ``sleepers``, a thread raises ``sleepers`` before the system compares
``generation``: one of both sees the other (U. Drepper, "Futexes Are Tricky", 2011). In the same way
the caller says that it sleeps before ``state`` is compared, and a thread that rises changes
``state`` before it looks whether the caller sleeps.

Callers that come at the same time have a team each, up to ``TEAMS``; further ones work alone, which
is right as any number of threads does all the work.
"""

from __future__ import annotations

from string import Template

from polysched.runtime.team_places import MEMBER, places_text
from polysched.runtime.team_waiting import CALLER_YIELDS, LOOKS, YIELDS, waiting_text

TEAMS = 16
"""Callers that may have threads at the same time."""

PARALLEL = "polysched_parallel"
"""The team's function, as :mod:`polysched.codegen.regions` describes it."""


def team_module(architecture: str) -> str:
    """The module's text; it defines ``PARALLEL`` and calls the C library's threads.

    Args:
        architecture: one of ``FUTEX_CALLS``; the system is Linux.
    """
    module = _MODULE.substitute(
        parallel=PARALLEL, teams=TEAMS, caller_enough=LOOKS + CALLER_YIELDS, enough=LOOKS + YIELDS
    )
    return MEMBER + module + waiting_text(architecture) + places_text()


_MODULE = Template("""
; state: seats + 65536 * seated threads; generation; sleepers; occupied; hired threads;
; whether the caller sleeps; work; task; the member hired last; of the last region: its work, how
; many nanoseconds it took, when it ended; when threads were woken last
%team = type { i32, i32, i32, i32, i32, i32, ptr, ptr, ptr, ptr, i64, i64, i64, [48 x i8] }

@teams = internal global [$teams x %team] zeroinitializer, align 128

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)

define void @$parallel(ptr %work, ptr %task, i32 %threads, i32 %flags) nounwind {
entry:
  br label %look

look:                                             ; for a team that nobody has
  %at = phi i64 [ 0, %entry ], [ %after, %next ]
  %none = icmp eq i64 %at, $teams
  br i1 %none, label %alone, label %try
try:
  %team = getelementptr [$teams x %team], ptr @teams, i64 0, i64 %at
  %state = getelementptr %team, ptr %team, i32 0, i32 0
  %generation = getelementptr %team, ptr %team, i32 0, i32 1
  %sleepers = getelementptr %team, ptr %team, i32 0, i32 2
  %occupied = getelementptr %team, ptr %team, i32 0, i32 3
  %hired = getelementptr %team, ptr %team, i32 0, i32 4
  %pair = cmpxchg ptr %occupied, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %staff, label %next
next:
  %after = add i64 %at, 1
  br label %look
alone:
  call void %work(ptr %task)
  ret void

staff:                                            ; have as many threads as there are seats
  %seats = sub i32 %threads, 1
  %have = load i32, ptr %hired
  %enough = icmp sge i32 %have, %seats
  br i1 %enough, label %open, label %hire
hire:
  %error = call i32 @hire(ptr %team)
  %refused = icmp ne i32 %error, 0                ; then there are fewer
  br i1 %refused, label %open, label %one_more
one_more:
  %now = add i32 %have, 1
  store i32 %now, ptr %hired
  br label %staff

open:
  %start = call i64 @clock()
  %work_at = getelementptr %team, ptr %team, i32 0, i32 6
  %task_at = getelementptr %team, ptr %team, i32 0, i32 7
  %waits = getelementptr %team, ptr %team, i32 0, i32 5
  store ptr %work, ptr %work_at
  store ptr %task, ptr %task_at
  store atomic i32 %seats, ptr %state seq_cst, align 4
  %before = atomicrmw add ptr %generation, i32 1 seq_cst
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 4
  %anyone = icmp ne i32 %asleep, 0
  %pays = call i1 @pays(ptr %team, ptr %work, i64 %start)
  %wakes = and i1 %anyone, %pays
  call void @send_away(ptr %team, i1 %wakes)
  br i1 %wakes, label %rouse, label %run
rouse:
  %woken_at = getelementptr %team, ptr %team, i32 0, i32 12
  store i64 %start, ptr %woken_at
  call void @wake(ptr %generation, i32 %seats)
  br label %run
run:
  call void @let_back(ptr %team)
  call void %work(ptr %task)
  %left = atomicrmw and ptr %state, i32 -65536 acq_rel
  br label %wait
wait:
  %turn = phi i32 [ 0, %run ], [ %turned, %waited ]
  %seated = load atomic i32, ptr %state acquire, align 4
  %nobody = icmp eq i32 %seated, 0
  br i1 %nobody, label %done, label %patience
patience:
  %tired = icmp uge i32 %turn, $caller_enough
  br i1 %tired, label %sleep, label %awake
awake:
  %later = call i32 @patience(i32 %turn)
  br label %waited
sleep:
  store atomic i32 1, ptr %waits seq_cst, align 4
  call void @sleep(ptr %state, i32 %seated)
  store atomic i32 0, ptr %waits seq_cst, align 4
  br label %waited
waited:
  %turned = phi i32 [ %later, %awake ], [ %turn, %sleep ]
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

define internal i32 @hire(ptr %team) nounwind {
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

define internal ptr @serve(ptr %team) nounwind {  ; what a hired thread does for ever
  %member = alloca %member, align 128
  call void @enlist(ptr %team, ptr %member)
  %core_at = getelementptr %member, ptr %member, i32 0, i32 2
  %state = getelementptr %team, ptr %team, i32 0, i32 0
  %generation = getelementptr %team, ptr %team, i32 0, i32 1
  %sleepers = getelementptr %team, ptr %team, i32 0, i32 2
  %work_at = getelementptr %team, ptr %team, i32 0, i32 6
  %task_at = getelementptr %team, ptr %team, i32 0, i32 7
  %waits = getelementptr %team, ptr %team, i32 0, i32 5
  br label %idle
idle:
  %seen = load atomic i32, ptr %generation seq_cst, align 4
  br label %look
look:
  %turn = phi i32 [ 0, %idle ], [ %turn, %open ], [ %turned, %waited ]
  %old = load atomic i32, ptr %state seq_cst, align 4
  %seats = and i32 %old, 65535
  %closed = icmp eq i32 %seats, 0
  br i1 %closed, label %wait, label %open
open:
  %taken = add i32 %old, 65535                    ; a seat less, a seated thread more
  %pair = cmpxchg ptr %state, i32 %old, i32 %taken acquire monotonic
  %sits = extractvalue { i32, i1 } %pair, 1
  br i1 %sits, label %run, label %look
run:
  %work = load ptr, ptr %work_at
  %task = load ptr, ptr %task_at
  call void %work(ptr %task)
  %left = atomicrmw sub ptr %state, i32 65536 seq_cst
  %waited_for = load atomic i32, ptr %waits seq_cst, align 4
  %anyone = icmp ne i32 %waited_for, 0
  br i1 %anyone, label %tell, label %idle
tell:
  call void @wake(ptr %state, i32 1)
  br label %idle
wait:
  call void @report(ptr %member)
  %tired = icmp uge i32 %turn, $enough
  br i1 %tired, label %sleep, label %patience
patience:
  %turned = call i32 @patience(i32 %turn)
  br label %waited
waited:
  br label %look
sleep:
  store atomic i32 -1, ptr %core_at monotonic, align 4
  %lying = atomicrmw add ptr %sleepers, i32 1 seq_cst
  call void @sleep(ptr %generation, i32 %seen)
  %rising = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %idle
}
""")
