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
  another core, behind a thread that only waits as well, the system moves it to the idle one.

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

TEAMS = 16
"""Callers that may have threads at the same time."""

LOOKS = 200
"""How often a thread looks before it yields: 2 to 8 microseconds of ``pause``."""

YIELDS = 2000
"""How often it then yields before it sleeps: about a millisecond if nobody else wants the core."""

AWAY = 50_000
"""Nanoseconds after which a thread that has yielded and comes back sleeps at once: somebody else
wants the core, and the system would give it half of the time to each."""

CALLER_YIELDS = 20
"""How often a caller that waits for the last threads yields before it sleeps."""

FUTEX_CALLS = {"x86_64": 202, "aarch64": 98}
"""The number of Linux' system call ``futex``, by architecture."""

_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
"""How a thread tells its core that it only waits: the declaration and the call."""

PARALLEL = "polysched_parallel"
"""The team's function, as :mod:`polysched.codegen.regions` describes it."""


def team_module(architecture: str) -> str:
    """The module's text; it defines ``PARALLEL`` and calls the C library's threads.

    Args:
        architecture: one of ``FUTEX_CALLS``; the system is Linux.
    """
    declare_pause, pause = _PAUSES[architecture]
    return _MODULE.substitute(
        parallel=PARALLEL,
        teams=TEAMS,
        looks=LOOKS,
        caller_enough=LOOKS + CALLER_YIELDS,
        enough=LOOKS + YIELDS,
        away=AWAY,
        futex=FUTEX_CALLS[architecture],
        declare_pause=declare_pause,
        pause=pause,
    )


_MODULE = Template("""
; state: seats + 65536 * seated threads; generation; sleepers; occupied; hired threads;
; whether the caller sleeps; work; task
%team = type { i32, i32, i32, i32, i32, i32, ptr, ptr, [88 x i8] }

@teams = internal global [$teams x %team] zeroinitializer, align 128

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i64 @syscall(i64, ...)
$declare_pause

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
  %work_at = getelementptr %team, ptr %team, i32 0, i32 6
  %task_at = getelementptr %team, ptr %team, i32 0, i32 7
  %waits = getelementptr %team, ptr %team, i32 0, i32 5
  store ptr %work, ptr %work_at
  store ptr %task, ptr %task_at
  store atomic i32 %seats, ptr %state seq_cst, align 4
  %before = atomicrmw add ptr %generation, i32 1 seq_cst
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 4
  %anyone = icmp ne i32 %asleep, 0
  br i1 %anyone, label %rouse, label %run
rouse:
  call void @wake(ptr %generation, i32 %seats)
  br label %run
run:
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
  store atomic i32 0, ptr %occupied release, align 4
  ret void
}

define internal i32 @hire(ptr %team) nounwind {
  %thread = alloca i64
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @member, ptr %team)
  %refused = icmp ne i32 %error, 0
  br i1 %refused, label %end, label %started
started:
  %handle = load i64, ptr %thread
  call i32 @pthread_detach(i64 %handle)
  br label %end
end:
  ret i32 %error
}

define internal void @sleep(ptr %word, i32 %seen) nounwind { ; FUTEX_WAIT_PRIVATE, if it is still so
  %value = zext i32 %seen to i64
  call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i64 128, i64 %value, ptr null)
  ret void
}

define internal void @wake(ptr %word, i32 %threads) nounwind { ; FUTEX_WAKE_PRIVATE
  %many = zext i32 %threads to i64
  call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i64 129, i64 %many)
  ret void
}

define internal i32 @patience(i32 %turn) nounwind { ; wait a little; the next turn
  %next = add i32 %turn, 1
  %early = icmp ult i32 %turn, $looks
  br i1 %early, label %pause, label %yield
pause:
  $pause
  ret i32 %next
yield:
  %before = call i64 @clock()
  call i32 @sched_yield()
  %after = call i64 @clock()
  %away = sub i64 %after, %before
  %others = icmp ugt i64 %away, $away
  %turned = select i1 %others, i32 $enough, i32 %next
  ret i32 %turned
}

define internal i64 @clock() nounwind {           ; nanoseconds of CLOCK_MONOTONIC
  %time = alloca { i64, i64 }
  call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr { i64, i64 }, ptr %time, i32 0, i32 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}

define internal ptr @member(ptr %team) nounwind { ; what a hired thread does for ever
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
  %tired = icmp uge i32 %turn, $enough
  br i1 %tired, label %sleep, label %patience
patience:
  %turned = call i32 @patience(i32 %turn)
  br label %waited
waited:
  br label %look
sleep:
  %lying = atomicrmw add ptr %sleepers, i32 1 seq_cst
  call void @sleep(ptr %generation, i32 %seen)
  %rising = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %idle
}
""")
