"""Check that the schedule's streaming stores are possible."""

from __future__ import annotations

from polysched.errors import LoweringError
from polysched.vector.ir import Assign, Call, Store, Stream, VectorProgram, walk
from polysched.vector.values import Uniform

LEAST_BYTES = 16
"""Bytes of the narrowest vector that a streaming store writes."""


def require_streams(program: VectorProgram) -> None:
    """Check that each array with a stream directive is written by whole vectors somewhere."""
    streamed = {name for name, array in program.arrays.items() if array.streamed}
    if not streamed:
        return
    written: set[str] = set()
    contiguous: set[str] = set()
    for node in walk(program.body):
        if isinstance(node, Assign | Call) and isinstance(node.target, Store | Stream):
            access = node.target.access
            name = access.address.array
            written.add(name)
            lanes = 0 if node.lanes is None else node.lanes.count
            is_wide = lanes * program.arrays[name].dtype.bytes >= LEAST_BYTES
            if access.movement is Uniform.CONTIGUOUS and is_wide:
                contiguous.add(name)
    for name in program.arrays:
        if name in streamed & written - contiguous:
            raise LoweringError(
                f"array '{name}' is to be streamed, but no vector loop writes neighboring "
                f"elements of it, at least {LEAST_BYTES} bytes at a time: vectorize the loop "
                "over them, or remove the stream step"
            )
