"""Ask the kernel for the permission to use AMX tiles.

Linux saves the tile data, 8 KiB a thread, only for processes that have asked for it; without
permission, the first tile instruction kills the process (Linux, "Using XSTATE features in user
space applications"). One request holds for all threads and for processes that are forked later.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Mapping

_SYS_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XTILEDATA = 18


def without_forbidden_tiles(features: Mapping[str, bool]) -> dict[str, bool]:
    """Switch AMX off if the processor has it, but the kernel does not permit its use.

    Args:
        features: the processor's features by LLVM's names.
    """
    allowed = not features.get("amx-tile") or may_use_tiles()
    return {name: on and (allowed or not name.startswith("amx-")) for name, on in features.items()}


@functools.cache
def may_use_tiles() -> bool:
    """Whether the kernel permits this process to use tiles; asked once.

    The processor must be an x86-64 with AMX.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    number, request, feature = map(
        ctypes.c_long, (_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA)
    )
    return int(libc.syscall(number, request, feature)) == 0
