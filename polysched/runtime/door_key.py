"""The machine code that finds the number of a kind of call, in LLVM's language."""

from __future__ import annotations

from string import Template

from polysched.runtime.door_table import MOST_RANK, TYPES
from polysched.runtime.numpy_memory import NDARRAY

KEY = "polysched_door_key"
"""The function's name."""


def key_module() -> str:
    """The text of a module that defines ``KEY`` alone, and the types."""
    return f"{NDARRAY}{TYPES}\n{_KEY.substitute(key=KEY, rank=MOST_RANK)}"


_KEY = Template("""\
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
