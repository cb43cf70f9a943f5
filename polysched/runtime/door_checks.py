"""What a door looks at before a call runs, in LLVM's language.

A kind of call that has the right number is compared in all that it was learned with.
"""

from __future__ import annotations

CHECKS = """\
; Whether an array is as it was when the call was learned.
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
"""
"""Functions that take the structures of :mod:`polysched.runtime.door_table`."""
