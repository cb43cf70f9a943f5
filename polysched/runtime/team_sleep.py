"""Waiting and waking of the thread team, in LLVM IR: poll, yield, sleep.

Waking a worker costs its caller as much time as a short region takes, so no worker is woken for a
single short region. The workers of a caller that runs many regions in succession are woken once and
stay awake between them.
"""

from __future__ import annotations

from string import Template

POLLS = 200
"""Polls before a thread yields: 2 to 8 microseconds of ``pause``."""

YIELDS = 2000
"""Yields before a worker sleeps: about a millisecond if no other thread wants the core."""

LONG_YIELD = 50_000
"""Least duration of a yield, in nanoseconds, after which a thread sleeps at once.

Another thread wants the core then, and the system would give half of the time to each.
"""

CALLER_YIELDS = 20
"""Yields before a caller that waits for the last workers sleeps."""

WORTH_WAKING = 150_000
"""Least duration of a region, in nanoseconds, that wakes sleeping workers for itself alone.

Waking a worker takes 15 to 60 microseconds, some of them of the caller's time.
"""

SHORT_PAUSE = 1_000_000
"""Pause between two regions in nanoseconds below which more regions are expected to follow.

Workers are then woken for shorter work too, because they stay awake for the following regions, but
not more often than once in this time.
"""

FUTEX = 202
"""Number of the Linux system call ``futex`` on x86-64."""


def sleep_text() -> str:
    """LLVM IR of the waiting functions, for the module of a team."""
    return _TEXT.substitute(
        polls=POLLS,
        turns=POLLS + YIELDS,
        long_yield=LONG_YIELD,
        worth=WORTH_WAKING,
        short_pause=SHORT_PAUSE,
        futex=FUTEX,
    )


_TEXT = Template("""
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i64 @syscall(i64, ...)
declare void @llvm.x86.sse2.pause()

define internal i1 @worth_waking(ptr %team, ptr %work, i64 %now) nounwind { ; whether to wake
  %last_work = getelementptr %team, ptr %team, i32 0, i32 9
  %took_at = getelementptr %team, ptr %team, i32 0, i32 10
  %ended_at = getelementptr %team, ptr %team, i32 0, i32 11
  %woken_at = getelementptr %team, ptr %team, i32 0, i32 12
  %before = load ptr, ptr %last_work
  %took = load i64, ptr %took_at
  %ended = load i64, ptr %ended_at
  %woken = load i64, ptr %woken_at
  %is_other = icmp ne ptr %work, %before
  %is_long = icmp uge i64 %took, $worth
  %may_be_long = or i1 %is_other, %is_long
  %pause = sub i64 %now, %ended
  %awake = sub i64 %now, %woken
  %follows_soon = icmp ult i64 %pause, $short_pause
  %is_rare = icmp uge i64 %awake, $short_pause
  %is_repeated = and i1 %follows_soon, %is_rare
  %is_worth_it = or i1 %may_be_long, %is_repeated
  ret i1 %is_worth_it
}

define internal void @sleep(ptr %word, i32 %seen) nounwind { ; FUTEX_WAIT_PRIVATE if still %seen
  %value = zext i32 %seen to i64
  call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i64 128, i64 %value, ptr null)
  ret void
}

define internal void @wake(ptr %word, i32 %threads) nounwind { ; FUTEX_WAKE_PRIVATE
  %many = zext i32 %threads to i64
  call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i64 129, i64 %many)
  ret void
}

define internal i32 @back_off(i32 %turn) nounwind { ; wait briefly; the next turn
  %next = add i32 %turn, 1
  %is_poll = icmp ult i32 %turn, $polls
  br i1 %is_poll, label %pause, label %yield
pause:
  call void @llvm.x86.sse2.pause()
  ret i32 %next
yield:
  %before = call i64 @clock()
  call i32 @sched_yield()
  %after = call i64 @clock()
  %duration = sub i64 %after, %before
  %is_long = icmp ugt i64 %duration, $long_yield
  %next_turn = select i1 %is_long, i32 $turns, i32 %next
  ret i32 %next_turn
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
""")
