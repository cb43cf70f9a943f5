"""The machine code of a door (:mod:`polysched.runtime.door`), in LLVM's language.

It is called as Python calls its built-in functions: ``METH_FASTCALL`` of the C API. All of it runs
under the GIL but the kernel itself, and that too if it is short. Arrays are read where numpy has
them: ``PyArrayObject_fields`` of its C API, part of its binary interface, whose offsets are the
numbers of ``%ndarray``.

Kernels take up to ``MOST_ARGUMENTS`` words. They are called with that many whatever they take: by
the calling conventions of System V and of Arm the caller makes and takes away the place for what
does not fit into registers, so words too many are not seen.
"""

from __future__ import annotations

from string import Template

MOST_ARRAYS = 8
"""Arrays of a call that goes through a door, at most."""

MOST_RANK = 6
"""Dimensions of each of them, at most."""

MOST_ARGUMENTS = 16
"""Words that the machine code of a kernel takes, at most."""

PROBES = 4
"""Neighbouring slots in which a kind of call may be kept."""

CALL, KEY = "polysched_door", "polysched_door_key"
"""The functions: the door itself, and the number by which it finds a kind of call."""


def key_module() -> str:
    """The text of a module that defines ``KEY`` alone."""
    return _KEY.substitute(**_LIMITS)


def door_module() -> str:
    """The text of a module that defines ``CALL``."""
    values = [f"%value{position}" for position in range(MOST_ARGUMENTS)]
    loads = "\n".join(
        f"  %at{position} = getelementptr i64, ptr %values, i64 {position}\n"
        f"  {value} = load i64, ptr %at{position}"
        for position, value in enumerate(values)
    )
    return key_module() + _DOOR.substitute(
        **_LIMITS, loads=loads, values=", ".join(f"i64 {value}" for value in values)
    )


_LIMITS = {
    "arrays": MOST_ARRAYS,
    "sources_bytes": 8 * MOST_ARRAYS,
    "rank": MOST_RANK,
    "arguments": MOST_ARGUMENTS,
    "values_bytes": 8 * MOST_ARGUMENTS,
    "probes": PROBES,
    "call": CALL,
    "key": KEY,
}

_KEY = Template("""\
; reference count, type, data, rank, extents, strides, base, element type, flags
%ndarray = type { i64, ptr, i64, i32, ptr, ptr, ptr, ptr, i32 }
; element type, rank, flags that it needs, whether it is written, bytes, extents, strides
%array = type { ptr, i64, i64, i64, i64, [$rank x i64], [$rank x i64] }
; key, arrays, option, what is kept alive, allocate, its arguments, code, pointers, position of the
; number of threads or -1, result, whether it is short, sources of the pointers, arguments, arrays
%entry = type { i64, i64, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64,
                [$arrays x i64], [$arguments x i64], [$arrays x %array] }
; type of arrays, None, running calls (of others, of doors), cores, slots less one, numpy's
; ``PyArray_Empty`` or null, entries
%door = type { ptr, ptr, ptr, i64, i64, ptr, [0 x %entry] }

define internal i64 @mix(i64 %hash, i64 %value) alwaysinline {
  %both = xor i64 %hash, %value
  %product = mul i64 %both, -7046029254386353131  ; 2^64 over the golden ratio
  %upper = lshr i64 %product, 32
  %mixed = xor i64 %product, %upper
  ret i64 %mixed
}

; The number of a kind of call: of the option, element types and extents; 0 if one of the arguments
; is no array that a door takes. The last may be None.
define i64 @$key(ptr %door, ptr %given, i64 %count) nounwind {
entry:
  %type = load ptr, ptr %door
  %none_at = getelementptr %door, ptr %door, i32 0, i32 1
  %none = load ptr, ptr %none_at
  %option = load i64, ptr %given
  %start = call i64 @mix(i64 %count, i64 %option)
  br label %each
each:
  %at = phi i64 [ 1, %entry ], [ %next, %done ]
  %hash = phi i64 [ %start, %entry ], [ %hashed, %done ]
  %more = icmp ult i64 %at, %count
  br i1 %more, label %look, label %end
look:
  %object_at = getelementptr ptr, ptr %given, i64 %at
  %object = load ptr, ptr %object_at
  %next = add i64 %at, 1
  %is_last = icmp eq i64 %next, %count
  %is_none = icmp eq ptr %object, %none
  %absent = and i1 %is_last, %is_none
  br i1 %absent, label %none_given, label %typed
none_given:
  %without = call i64 @mix(i64 %hash, i64 1)
  br label %done
typed:
  %type_at = getelementptr %ndarray, ptr %object, i32 0, i32 1
  %found = load ptr, ptr %type_at
  %is_array = icmp eq ptr %found, %type
  br i1 %is_array, label %array, label %refuse
array:
  %rank_at = getelementptr %ndarray, ptr %object, i32 0, i32 3
  %rank32 = load i32, ptr %rank_at
  %rank = zext i32 %rank32 to i64
  %is_flat = icmp ule i64 %rank, $rank
  br i1 %is_flat, label %describe, label %refuse
describe:
  %element_at = getelementptr %ndarray, ptr %object, i32 0, i32 7
  %element = load i64, ptr %element_at
  %of_element = call i64 @mix(i64 %hash, i64 %element)
  %of_rank = call i64 @mix(i64 %of_element, i64 %rank)
  %extents_at = getelementptr %ndarray, ptr %object, i32 0, i32 4
  %extents = load ptr, ptr %extents_at
  br label %extent
extent:
  %axis = phi i64 [ 0, %describe ], [ %axis_after, %mix_extent ]
  %so_far = phi i64 [ %of_rank, %describe ], [ %with, %mix_extent ]
  %is_axis = icmp ult i64 %axis, %rank
  br i1 %is_axis, label %mix_extent, label %done
mix_extent:
  %extent_at = getelementptr i64, ptr %extents, i64 %axis
  %length = load i64, ptr %extent_at
  %with = call i64 @mix(i64 %so_far, i64 %length)
  %axis_after = add i64 %axis, 1
  br label %extent
done:
  %hashed = phi i64 [ %without, %none_given ], [ %so_far, %extent ]
  br label %each
end:
  %key = or i64 %hash, 1
  ret i64 %key
refuse:
  ret i64 0
}

""")

_DOOR = Template("""\
declare ptr @PyObject_CallObject(ptr, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Whether an array is as it was when the call was learnt.
define internal i1 @fits(ptr %object, ptr %array) nounwind {
entry:
  %element_at = getelementptr %ndarray, ptr %object, i32 0, i32 7
  %element = load ptr, ptr %element_at
  %wanted = load ptr, ptr %array
  %is_same = icmp eq ptr %element, %wanted
  br i1 %is_same, label %ranks, label %no
ranks:
  %rank_at = getelementptr %ndarray, ptr %object, i32 0, i32 3
  %rank32 = load i32, ptr %rank_at
  %rank = zext i32 %rank32 to i64
  %wanted_rank_at = getelementptr %array, ptr %array, i32 0, i32 1
  %wanted_rank = load i64, ptr %wanted_rank_at
  %is_rank = icmp eq i64 %rank, %wanted_rank
  br i1 %is_rank, label %ask_flags, label %no
ask_flags:
  %flags_at = getelementptr %ndarray, ptr %object, i32 0, i32 8
  %flags32 = load i32, ptr %flags_at
  %flags = zext i32 %flags32 to i64
  %needed_at = getelementptr %array, ptr %array, i32 0, i32 2
  %needed = load i64, ptr %needed_at
  %has = and i64 %flags, %needed
  %is_flagged = icmp eq i64 %has, %needed
  br i1 %is_flagged, label %where, label %no
where:
  %extents_at = getelementptr %ndarray, ptr %object, i32 0, i32 4
  %extents = load ptr, ptr %extents_at
  %strides_at = getelementptr %ndarray, ptr %object, i32 0, i32 5
  %strides = load ptr, ptr %strides_at
  br label %each
each:
  %axis = phi i64 [ 0, %where ], [ %after, %stride ]
  %more = icmp ult i64 %axis, %rank
  br i1 %more, label %extent, label %yes
extent:
  %extent_at = getelementptr i64, ptr %extents, i64 %axis
  %length = load i64, ptr %extent_at
  %wanted_extent_at = getelementptr %array, ptr %array, i32 0, i32 5, i64 %axis
  %wanted_length = load i64, ptr %wanted_extent_at
  %is_length = icmp eq i64 %length, %wanted_length
  br i1 %is_length, label %stride, label %no
stride:
  %stride_at = getelementptr i64, ptr %strides, i64 %axis
  %step = load i64, ptr %stride_at
  %wanted_stride_at = getelementptr %array, ptr %array, i32 0, i32 6, i64 %axis
  %wanted_step = load i64, ptr %wanted_stride_at
  %is_step = icmp eq i64 %step, %wanted_step
  %after = add i64 %axis, 1
  br i1 %is_step, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a call is of the kind of an entry.
define internal i1 @is_kind(ptr %door, ptr %entry, i64 %key, ptr %given, i64 %count) nounwind {
start:
  %own_key = load i64, ptr %entry
  %is_key = icmp eq i64 %own_key, %key
  br i1 %is_key, label %counts, label %no
counts:
  %own_count_at = getelementptr %entry, ptr %entry, i32 0, i32 1
  %own_count = load i64, ptr %own_count_at
  %arrays = sub i64 %count, 1
  %is_count = icmp eq i64 %own_count, %arrays
  br i1 %is_count, label %options, label %no
options:
  %own_option_at = getelementptr %entry, ptr %entry, i32 0, i32 2
  %own_option = load ptr, ptr %own_option_at
  %option = load ptr, ptr %given
  %is_option = icmp eq ptr %own_option, %option
  br i1 %is_option, label %allocation, label %no
allocation:
  %none_at = getelementptr %door, ptr %door, i32 0, i32 1
  %none = load ptr, ptr %none_at
  %allocate_at = getelementptr %entry, ptr %entry, i32 0, i32 4
  %allocate = load ptr, ptr %allocate_at
  %allocates = icmp ne ptr %allocate, null
  %last_at = getelementptr ptr, ptr %given, i64 %arrays
  %last = load ptr, ptr %last_at
  %is_none = icmp eq ptr %last, %none
  %is_allocation = icmp eq i1 %allocates, %is_none
  %less = zext i1 %is_none to i64
  %present = sub i64 %arrays, %less
  br i1 %is_allocation, label %each, label %no
each:
  %at = phi i64 [ 0, %allocation ], [ %after, %compare ]
  %more = icmp ult i64 %at, %present
  br i1 %more, label %compare, label %yes
compare:
  %after = add i64 %at, 1
  %object_at = getelementptr ptr, ptr %given, i64 %after
  %object = load ptr, ptr %object_at
  %array = getelementptr %entry, ptr %entry, i32 0, i32 13, i64 %at
  %is_fit = call i1 @fits(ptr %object, ptr %array)
  br i1 %is_fit, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether what is written shares no byte with anything else.
define internal i1 @are_apart(ptr %arrays, ptr %places, i64 %count) nounwind {
entry:
  br label %first
first:
  %one = phi i64 [ 0, %entry ], [ %one_after, %next ]
  %one_more = icmp ult i64 %one, %count
  br i1 %one_more, label %begin, label %yes
begin:
  %one_after = add i64 %one, 1
  %one_at = getelementptr i64, ptr %places, i64 %one
  %one_begin = load i64, ptr %one_at
  %one_bytes_at = getelementptr %array, ptr %arrays, i64 %one, i32 4
  %one_bytes = load i64, ptr %one_bytes_at
  %one_end = add i64 %one_begin, %one_bytes
  %one_written_at = getelementptr %array, ptr %arrays, i64 %one, i32 3
  %one_written = load i64, ptr %one_written_at
  br label %second
second:
  %other = phi i64 [ %one_after, %begin ], [ %other_after, %disjoint ]
  %other_more = icmp ult i64 %other, %count
  br i1 %other_more, label %pair, label %next
next:
  br label %first
pair:
  %other_after = add i64 %other, 1
  %other_at = getelementptr i64, ptr %places, i64 %other
  %other_begin = load i64, ptr %other_at
  %other_bytes_at = getelementptr %array, ptr %arrays, i64 %other, i32 4
  %other_bytes = load i64, ptr %other_bytes_at
  %other_end = add i64 %other_begin, %other_bytes
  %other_written_at = getelementptr %array, ptr %arrays, i64 %other, i32 3
  %other_written = load i64, ptr %other_written_at
  %written = or i64 %one_written, %other_written
  %is_read = icmp eq i64 %written, 0
  %is_before = icmp ule i64 %one_end, %other_begin
  %is_behind = icmp ule i64 %other_end, %one_begin
  %are_disjoint = or i1 %is_before, %is_behind
  %is_fine = or i1 %is_read, %are_disjoint
  br i1 %is_fine, label %disjoint, label %no
disjoint:
  br label %second
yes:
  ret i1 true
no:
  ret i1 false
}

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

; door(option, array, ...): the result of a kind of call that was learnt, None of another. The data
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
