"""The machine code of a door (:mod:`polysched.runtime.door`), in LLVM's language.

It is called as Python calls its built-in functions: ``METH_FASTCALL`` of the C API. All of it runs
under the GIL but the kernel itself, and that too if it is short.

Kernels take up to ``MOST_ARGUMENTS`` words. They are called with that many whatever they take: by
the calling conventions of System V and of Arm the caller makes and takes away the place for what
does not fit into registers, so words too many are not seen.
"""

from __future__ import annotations

from string import Template

from polysched.runtime.door_checks import CHECKS
from polysched.runtime.door_key import KEY, key_module
from polysched.runtime.door_table import MOST_ARGUMENTS, MOST_ARRAYS, PROBES

CALL = "polysched_door"
"""The function's name."""


def door_module() -> str:
    """The text of a module that defines ``CALL``."""
    values = [f"%value{position}" for position in range(MOST_ARGUMENTS)]
    loads = "\n".join(
        f"  %at{position} = getelementptr i64, ptr %values, i64 {position}\n"
        f"  {value} = load i64, ptr %at{position}"
        for position, value in enumerate(values)
    )
    call = _CALL.substitute(
        call=CALL,
        key=KEY,
        arrays=MOST_ARRAYS,
        sources_bytes=8 * MOST_ARRAYS,
        arguments=MOST_ARGUMENTS,
        values_bytes=8 * MOST_ARGUMENTS,
        probes=PROBES,
        loads=loads,
        values=", ".join(f"i64 {value}" for value in values),
    )
    return f"{key_module()}{_DECLARATIONS}\n{CHECKS}\n{call}"


_DECLARATIONS = """\
declare ptr @PyObject_CallObject(ptr, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_CALL = Template("""\
; How many threads a call may have: its share of the cores that this process may use now.
define internal i64 @share(i64 %cores, i64 %calls) nounwind {
entry:
  %set = alloca [16 x i64]
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %set)
  %is_known = icmp eq i32 %failed, 0
  br i1 %is_known, label %each, label %divide
each:
  %at = phi i64 [ 0, %entry ], [ %after, %add ]
  %sum = phi i64 [ 0, %entry ], [ %added, %add ]
  %more = icmp ult i64 %at, 16
  br i1 %more, label %add, label %least
add:
  %word_at = getelementptr i64, ptr %set, i64 %at
  %word = load i64, ptr %word_at
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %added = add i64 %sum, %bits
  %after = add i64 %at, 1
  br label %each
least:
  %is_less = icmp ult i64 %sum, %cores
  %allowed = select i1 %is_less, i64 %sum, i64 %cores
  br label %divide
divide:
  %usable = phi i64 [ %cores, %entry ], [ %allowed, %least ]
  %share = udiv i64 %usable, %calls
  %is_none = icmp eq i64 %share, 0
  %threads = select i1 %is_none, i64 1, i64 %share
  ret i64 %threads
}

; door(option, array, ...): the result of a kind of call that was learned, None of another. The data
; of the array ``self`` are the door.
define ptr @$call(ptr %self, ptr %given, i64 %count) nounwind {
start:
  %values = alloca [$arguments x i64]
  %places = alloca [$arrays x i64]
  %sources = alloca [$arrays x i64]
  %memory_at = getelementptr %ndarray, ptr %self, i32 0, i32 2
  %door = load ptr, ptr %memory_at
  %none_at = getelementptr %door, ptr %door, i32 0, i32 1
  %none = load ptr, ptr %none_at
  %arrays = sub i64 %count, 1
  %beyond = sub i64 %arrays, 1
  %is_size = icmp ult i64 %beyond, $arrays        ; one to so many
  br i1 %is_size, label %find, label %unknown
find:
  %key = call i64 @$key(ptr %door, ptr %given, i64 %count)
  %is_key = icmp ne i64 %key, 0
  br i1 %is_key, label %probe, label %unknown
probe:
  %try = phi i64 [ 0, %find ], [ %try_after, %next_slot ]
  %mask_at = getelementptr %door, ptr %door, i32 0, i32 4
  %mask = load i64, ptr %mask_at
  %upper = lshr i64 %key, 1                       ; the last bit is always set
  %sum = add i64 %upper, %try
  %slot = and i64 %sum, %mask
  %entry = getelementptr %door, ptr %door, i32 0, i32 6, i64 %slot
  %is_kind = call i1 @is_kind(ptr %door, ptr %entry, i64 %key, ptr %given, i64 %count)
  br i1 %is_kind, label %take, label %next_slot
next_slot:
  %try_after = add i64 %try, 1
  %is_over = icmp eq i64 %try_after, $probes
  br i1 %is_over, label %unknown, label %probe

take:                                             ; what is kept, all else of the entry lives on
  %kept_at = getelementptr %entry, ptr %entry, i32 0, i32 3
  %kept = load ptr, ptr %kept_at
  call void @Py_IncRef(ptr %kept)
  %own_values = getelementptr %entry, ptr %entry, i32 0, i32 12
  call void @llvm.memcpy.p0.p0.i64(ptr %values, ptr %own_values, i64 $values_bytes, i1 false)
  %code_at = getelementptr %entry, ptr %entry, i32 0, i32 6
  %code = load ptr, ptr %code_at
  %pointers_at = getelementptr %entry, ptr %entry, i32 0, i32 7
  %pointers = load i64, ptr %pointers_at
  %threads_at = getelementptr %entry, ptr %entry, i32 0, i32 8
  %threads_position = load i64, ptr %threads_at
  %result_at = getelementptr %entry, ptr %entry, i32 0, i32 9
  %result_position = load i64, ptr %result_at
  %short_at = getelementptr %entry, ptr %entry, i32 0, i32 10
  %short = load i64, ptr %short_at
  br label %place
place:
  %of = phi i64 [ 0, %take ], [ %of_after, %placed ]
  %is_array = icmp ult i64 %of, %arrays
  br i1 %is_array, label %ask_object, label %order
ask_object:
  %of_after = add i64 %of, 1
  %object_at = getelementptr ptr, ptr %given, i64 %of_after
  %object = load ptr, ptr %object_at
  %is_absent = icmp eq ptr %object, %none
  br i1 %is_absent, label %placed, label %ask_data
ask_data:
  %data_at = getelementptr %ndarray, ptr %object, i32 0, i32 2
  %data = load i64, ptr %data_at
  %place_at = getelementptr i64, ptr %places, i64 %of
  store i64 %data, ptr %place_at
  br label %placed
placed:
  br label %place

order:
  %last_at = getelementptr ptr, ptr %given, i64 %arrays
  %last = load ptr, ptr %last_at
  %allocates = icmp eq ptr %last, %none
  %present = select i1 %allocates, i64 %beyond, i64 %arrays
  %own_arrays = getelementptr %entry, ptr %entry, i32 0, i32 13
  %are_apart = call i1 @are_apart(ptr %own_arrays, ptr %places, i64 %present)
  br i1 %are_apart, label %order_sources, label %give_up
order_sources:                                    ; as long as nothing but this reads the entry
  %own_sources = getelementptr %entry, ptr %entry, i32 0, i32 11
  call void @llvm.memcpy.p0.p0.i64(ptr %sources, ptr %own_sources, i64 $sources_bytes, i1 false)
  br i1 %allocates, label %allocate, label %pointer
allocate:                                         ; may let another thread learn something here
  %described = getelementptr %array, ptr %own_arrays, i64 %beyond
  %of_type = load ptr, ptr %described
  %is_described = icmp ne ptr %of_type, null
  br i1 %is_described, label %ask_numpy, label %ask_object_of_python
ask_numpy:
  %empty_at = getelementptr %door, ptr %door, i32 0, i32 5
  %empty = load ptr, ptr %empty_at
  %new_rank_at = getelementptr %array, ptr %described, i32 0, i32 1
  %new_rank = load i64, ptr %new_rank_at
  %new_rank32 = trunc i64 %new_rank to i32
  %new_extents = getelementptr %array, ptr %described, i32 0, i32 5
  call void @Py_IncRef(ptr %of_type)              ; it is taken over
  %empty_array = call ptr %empty(i32 %new_rank32, ptr %new_extents, ptr %of_type, i32 0)
  br label %asked
ask_object_of_python:
  %allocate_at = getelementptr %entry, ptr %entry, i32 0, i32 4
  %allocator = load ptr, ptr %allocate_at
  %its_at = getelementptr %entry, ptr %entry, i32 0, i32 5
  %its = load ptr, ptr %its_at
  %called = call ptr @PyObject_CallObject(ptr %allocator, ptr %its)
  br label %asked
asked:
  %new = phi ptr [ %empty_array, %ask_numpy ], [ %called, %ask_object_of_python ]
  %is_lacking = icmp eq ptr %new, null
  br i1 %is_lacking, label %lacking, label %allocated
lacking:                                          ; the long way finds words for it
  call void @PyErr_Clear()
  br label %give_up
allocated:
  %new_data_at = getelementptr %ndarray, ptr %new, i32 0, i32 2
  %new_data = load i64, ptr %new_data_at
  %new_place = getelementptr i64, ptr %places, i64 %beyond
  store i64 %new_data, ptr %new_place
  br label %pointer

pointer:
  %made = phi ptr [ null, %order_sources ], [ %new, %allocated ], [ %made, %put ]
  %to = phi i64 [ 0, %order_sources ], [ 0, %allocated ], [ %to_after, %put ]
  %is_pointer = icmp ult i64 %to, %pointers
  br i1 %is_pointer, label %put, label %threads
put:
  %source_at = getelementptr i64, ptr %sources, i64 %to
  %source = load i64, ptr %source_at
  %source_place = getelementptr i64, ptr %places, i64 %source
  %address = load i64, ptr %source_place
  %value_at = getelementptr i64, ptr %values, i64 %to
  store i64 %address, ptr %value_at
  %to_after = add i64 %to, 1
  br label %pointer

threads:
  %words_at = getelementptr %door, ptr %door, i32 0, i32 2
  %words = load ptr, ptr %words_at
  %own_calls_at = getelementptr i64, ptr %words, i64 1
  %others = load i64, ptr %words
  %before = load i64, ptr %own_calls_at
  %own_calls = add i64 %before, 1
  store i64 %own_calls, ptr %own_calls_at
  %shares = icmp sge i64 %threads_position, 0
  br i1 %shares, label %share, label %run
share:
  %cores_at = getelementptr %door, ptr %door, i32 0, i32 3
  %cores = load i64, ptr %cores_at
  %calls = add i64 %others, %own_calls
  %team = call i64 @share(i64 %cores, i64 %calls)
  %team_at = getelementptr i64, ptr %values, i64 %threads_position
  store i64 %team, ptr %team_at
  br label %run
run:
$loads
  %is_short = icmp ne i64 %short, 0
  br i1 %is_short, label %run_short, label %run_long
run_short:
  %short_status = call i32 %code($values)
  br label %ran
run_long:
  %thread = call ptr @PyEval_SaveThread()
  %long_status = call i32 %code($values)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
ran:
  %status = phi i32 [ %short_status, %run_short ], [ %long_status, %run_long ]
  %running = load i64, ptr %own_calls_at
  %ended = sub i64 %running, 1
  store i64 %ended, ptr %own_calls_at
  call void @Py_DecRef(ptr %kept)
  %is_complete = icmp eq i32 %status, 0
  %is_new = icmp ne ptr %made, null
  br i1 %is_complete, label %complete, label %failed
failed:                                           ; no memory for a workspace: nothing was written
  br i1 %is_new, label %drop, label %unknown
drop:
  call void @Py_DecRef(ptr %made)
  br label %unknown
complete:
  br i1 %is_new, label %give_new, label %give
give_new:
  ret ptr %made
give:
  %result_source = add i64 %result_position, 1
  %output_at = getelementptr ptr, ptr %given, i64 %result_source
  %output = load ptr, ptr %output_at
  call void @Py_IncRef(ptr %output)
  ret ptr %output

give_up:
  call void @Py_DecRef(ptr %kept)
  br label %unknown
unknown:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
""")
