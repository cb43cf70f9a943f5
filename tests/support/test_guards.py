"""What a kernel does wrong is noticed by the guards, in a child of this process."""

import faulthandler
import os
import resource
import signal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polysched.ir.declare.builder import KernelBuilder
from polysched.machine.detect import detect_host
from polysched.runtime import kernel as runtime_kernel
from polysched.runtime.cache import ObjectCache
from polysched.runtime.compiling import compile_kernel
from polysched.runtime.kernel import CompiledKernel
from tests.support import guards
from tests.support.guards import Guarded, GuardError, pytest_configure

# y[0] = x[0], and one access more
TEXT = """
define i32 @copied(ptr %x, ptr %y, i64 %n) {{
  %value = load i32, ptr %x
  store i32 %value, ptr %y
  %before_x = getelementptr i32, ptr %x, i64 -1
  %behind_x = getelementptr i32, ptr %x, i64 %n
  %before_y = getelementptr i32, ptr %y, i64 -1
  %behind_y = getelementptr i32, ptr %y, i64 %n
  {access}
  ret i32 0
}}
"""
CRASH, REPORT, FINE = -signal.SIGSEGV, 1, 0


def compiled(access: str) -> CompiledKernel:
    build = KernelBuilder("copied")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", "i32", (n,)), build.inout("y", "i32", (n,))
    with build.loops(i=1) as i:
        y[i] = x[i]
    text = TEXT.format(access=access)
    return compile_kernel(build.kernel(), text, detect_host(), cache=ObjectCache(None))


def outcome(side: str, access: str) -> int:
    """How a process ends that guards two calls, the second one through the call cache."""
    child = os.fork()
    if child == 0:  # the child must not come back into pytest
        result = 2
        try:
            faulthandler.disable()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            guards.CALL_TABLE = runtime_kernel.CALL_TABLE = (
                None  # calls in Python, which are guarded
            )
            config: Any = SimpleNamespace(getoption=lambda _: side)
            pytest_configure(config)
            kernel = compiled(access)
            for start in (5, 8):
                x, y = np.arange(start, start + 7, dtype="i4"), np.zeros(7, "i4")
                kernel(x, y)
                result = FINE if y.tolist() == [start, 0, 0, 0, 0, 0, 0] else 3
        except GuardError:
            result = REPORT
        finally:
            os._exit(result)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(
    ("access", "at_start", "at_end"),
    [
        ("", FINE, FINE),
        ("store i32 7, ptr %behind_y", REPORT, CRASH),
        ("store i32 7, ptr %before_y", CRASH, REPORT),
        ("store i32 7, ptr %x", REPORT, REPORT),
        ("load volatile i32, ptr %behind_x", FINE, CRASH),
        ("load volatile i32, ptr %before_x", CRASH, FINE),
    ],
)
def test_accesses_outside_of_arrays(access: str, at_start: int, at_end: int) -> None:
    assert (outcome("start", access), outcome("end", access)) == (at_start, at_end)


@pytest.mark.parametrize("at_end", [True, False])
def test_gaps_are_guarded(at_end: bool) -> None:
    memory = np.arange(40, dtype="i4").reshape(5, 8)
    guarded = Guarded(memory[:, 1:4], at_end=at_end)
    assert guarded.array.tolist() == memory[:, 1:4].tolist()
    guarded.array[2, 1] = -1
    guarded.check("it", is_written=True)
    with pytest.raises(GuardError, match="it is only read, and has been changed"):
        guarded.check("it", is_written=False)
    guarded.copy_back()
    assert memory[2].tolist() == [16, 17, -1, 19, 20, 21, 22, 23]
    guarded.bytes[guarded.start + 12] = 0
    with pytest.raises(GuardError, match="1 bytes outside .* from byte 12 to 12 relative to its"):
        guarded.check("it", is_written=True)
