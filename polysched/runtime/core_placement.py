"""Core placement of the thread team, in LLVM IR: no worker starts on its caller's core.

A system may wake a thread on the core that it ran on last, or on the caller's core, although other
cores are idle, and leave it there for 10 ms. Virtual machines do so, because a halted core looks as
if the host had taken it away. So each worker reports its core. A caller excludes its own core from
the affinity mask of each worker that was there last, or that sleeps and is about to be woken. It
restores the masks right after waking, so that workers can move if another thread needs their core.
"""

from __future__ import annotations

from string import Template

CORES = 8192
"""Cores that an affinity mask has room for. On a larger machine masks are not changed."""

WORKER = f"""
; the worker started before; its handle; its core, -1 if it sleeps; whether it is excluded from a
; core; its affinity mask
%worker = type {{ ptr, i64, i32, i32, [{CORES // 8} x i8] }}
"""
"""LLVM type of a worker. It must be defined before its uses."""


def placement_text() -> str:
    """LLVM IR of the placement functions, for a module that begins with ``WORKER``."""
    return _TEXT.substitute(mask_bytes=CORES // 8)


_TEXT = Template("""
declare i64 @pthread_self()
declare i32 @pthread_getaffinity_np(i64, i64, ptr)
declare i32 @pthread_setaffinity_np(i64, i64, ptr)
declare i32 @sched_getcpu()

define internal void @exclude_core(ptr %team, i1 %wakes) nounwind { ; move workers off this core
entry:
  %core = call i32 @sched_getcpu()
  %is_known = icmp sge i32 %core, 0
  %last_at = getelementptr %team, ptr %team, i32 0, i32 8
  %last = load atomic ptr, ptr %last_at acquire, align 8
  %byte = lshr i32 %core, 3
  %in_byte = and i32 %core, 7
  %position = trunc i32 %in_byte to i8
  %bit = shl i8 1, %position
  br i1 %is_known, label %look, label %end
look:
  %worker = phi ptr [ %last, %entry ], [ %before, %next ]
  %none = icmp eq ptr %worker, null
  br i1 %none, label %end, label %compare
compare:
  %core_at = getelementptr %worker, ptr %worker, i32 0, i32 2
  %worker_core = load atomic i32, ptr %core_at monotonic, align 4
  %is_here = icmp eq i32 %worker_core, %core
  %sleeps = icmp slt i32 %worker_core, 0
  %is_woken = and i1 %sleeps, %wakes
  %must_move = or i1 %is_here, %is_woken
  br i1 %must_move, label %ask, label %next
ask:
  %handle_at = getelementptr %worker, ptr %worker, i32 0, i32 1
  %handle = load i64, ptr %handle_at
  %mask = getelementptr %worker, ptr %worker, i32 0, i32 4
  %unread = call i32 @pthread_getaffinity_np(i64 %handle, i64 $mask_bytes, ptr %mask)
  %is_read = icmp eq i32 %unread, 0
  br i1 %is_read, label %forbid, label %next
forbid:
  %byte_at = getelementptr i8, ptr %mask, i32 %byte
  %allowed = load i8, ptr %byte_at
  %flipped = xor i8 %bit, -1
  %reduced = and i8 %allowed, %flipped
  store i8 %reduced, ptr %byte_at
  %refused = call i32 @pthread_setaffinity_np(i64 %handle, i64 $mask_bytes, ptr %mask)
  store i8 %allowed, ptr %byte_at                 ; the mask that restore_affinity restores
  %granted = icmp eq i32 %refused, 0              ; refused if no other core is allowed
  br i1 %granted, label %sent, label %next
sent:
  %excluded_at = getelementptr %worker, ptr %worker, i32 0, i32 3
  store i32 1, ptr %excluded_at
  store atomic i32 -1, ptr %core_at monotonic, align 4
  br label %next
next:
  %before = load ptr, ptr %worker
  br label %look
end:
  ret void
}

define internal void @restore_affinity(ptr %team) nounwind { ; restore the affinity masks
entry:
  %last_at = getelementptr %team, ptr %team, i32 0, i32 8
  %last = load atomic ptr, ptr %last_at acquire, align 8
  br label %look
look:
  %worker = phi ptr [ %last, %entry ], [ %before, %next ]
  %none = icmp eq ptr %worker, null
  br i1 %none, label %end, label %compare
compare:
  %excluded_at = getelementptr %worker, ptr %worker, i32 0, i32 3
  %excluded = load i32, ptr %excluded_at
  %is_excluded = icmp ne i32 %excluded, 0
  br i1 %is_excluded, label %allow, label %next
allow:
  %handle_at = getelementptr %worker, ptr %worker, i32 0, i32 1
  %handle = load i64, ptr %handle_at
  %mask = getelementptr %worker, ptr %worker, i32 0, i32 4
  %refused = call i32 @pthread_setaffinity_np(i64 %handle, i64 $mask_bytes, ptr %mask)
  store i32 0, ptr %excluded_at
  br label %next
next:
  %before = load ptr, ptr %worker
  br label %look
end:
  ret void
}

define internal void @register_worker(ptr %team, ptr %worker) nounwind { ; add it to the team's list
entry:
  %last_at = getelementptr %team, ptr %team, i32 0, i32 8
  %handle_at = getelementptr %worker, ptr %worker, i32 0, i32 1
  %core_at = getelementptr %worker, ptr %worker, i32 0, i32 2
  %excluded_at = getelementptr %worker, ptr %worker, i32 0, i32 3
  %handle = call i64 @pthread_self()
  store i64 %handle, ptr %handle_at
  store i32 -1, ptr %core_at
  store i32 0, ptr %excluded_at
  br label %try
try:
  %last = load atomic ptr, ptr %last_at monotonic, align 8
  store ptr %last, ptr %worker
  %pair = cmpxchg ptr %last_at, ptr %last, ptr %worker release monotonic
  %is_done = extractvalue { ptr, i1 } %pair, 1
  br i1 %is_done, label %end, label %try
end:
  ret void
}

define internal void @report_core(ptr %worker) nounwind { ; store its core for callers
  %core_at = getelementptr %worker, ptr %worker, i32 0, i32 2
  %core = call i32 @sched_getcpu()
  %before = load atomic i32, ptr %core_at monotonic, align 4
  %is_new = icmp ne i32 %core, %before
  br i1 %is_new, label %write, label %end
write:
  store atomic i32 %core, ptr %core_at monotonic, align 4
  br label %end
end:
  ret void
}
""")
