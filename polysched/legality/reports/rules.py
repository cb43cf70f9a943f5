"""Help texts for the causes of violations: the rules of a SARIF report."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from polysched.legality.verdicts.verdict import Cause

_ORDER = (
    "Every instance that touches an element must run in the order of the program wherever one of "
    "the two writes. Remove the offending step, or insert skew(), shift() or another reorder() "
    "before it."
)
_REDUCTION = (
    "The order of the reduction is free, but its instances must not update one element at once. "
    "Give each its own partial result with rfactor(), or choose a loop that the element depends on."
)
_STORAGE = (
    "A buffer has memory for one tile at a time, and each iteration of a parallel loop around has "
    "its own. Make it at an outer loop, or keep the loops that make and use a tile together."
)

HELP: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.LOOP: _ORDER,
        Cause.SEQUENCE: "Statements of one iteration must stand in an order that keeps their "
        "dependences. Remove the offending step, or shift() the later statement.",
        Cause.LANES: "All lanes of a vector read before any of them writes. Use fewer lanes than "
        "the distance of the dependence, or another loop.",
        Cause.REDUCTION_LANES: _REDUCTION,
        Cause.THREADS: "The iterations of a parallel loop run in any order and at once. Choose a "
        "loop that carries no dependence, distribute() it, or give each iteration its own copy of "
        "a scratch array with privatize().",
        Cause.REDUCTION_THREADS: _REDUCTION,
        Cause.INSTRUCTION: "An instruction that adds terms in an order of its own needs a "
        "reduction whose order is free. Declare the reduction with order='any', or take another "
        "instruction.",
        Cause.SHARED_BYTE: "Threads must not touch one byte of a packed array that is written. "
        "Split the loop by a multiple of 8 and run the outer one in parallel, or declare the array "
        "with rows='padded' and run a loop over rows in parallel.",
        Cause.SAME_TIME: "Two instances of a statement have one timestamp. Remove the offending "
        "step.",
        Cause.TWO_TILES: _STORAGE,
        Cause.LIFETIME: _STORAGE,
        Cause.OVERWRITTEN: "Elements that share memory must not be needed at the same time. Keep "
        "more of them apart: fold_storage() to a larger size, or let the reader run sooner.",
        Cause.INTERRUPTED: "If the order of a reduction is free, each tile must be copied into its "
        "buffer, updated and copied back before another tile of the element starts. Keep these "
        "loops together.",
        Cause.OUTSIDE: "An access must stay inside its array for all parameters of the context. "
        "Make the array larger, the loops shorter, or assume() what holds of the parameters.",
        Cause.NEVER_WRITTEN: "Outputs and temporaries start undefined. Write the element first, or "
        "declare the array inout.",
        Cause.LOST: "Every instance of the kernel must run. Remove the offending step.",
        Cause.ADDED: "Nothing may run that is not part of the kernel. Remove the offending step.",
    }
)
"""For each cause, the rule and the advice."""
