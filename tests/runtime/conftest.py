"""Small kernels with LLVM IR written by hand."""

from dataclasses import dataclass

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.runtime.cache import ObjectCache
from polysched.runtime.compiling import compile_kernel
from polysched.runtime.kernel import CompiledKernel
from tests.support.teams import Pair, started_pair

# out[i] = 2 * x[i] + y[i] for 0 <= i < n
SAXPY = """
define i32 @saxpy(ptr noalias %x, ptr noalias %y, ptr noalias %out, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %body]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %x_at = getelementptr inbounds float, ptr %x, i64 %i
  %x_value = load float, ptr %x_at, align 4
  %y_at = getelementptr inbounds float, ptr %y, i64 %i
  %y_value = load float, ptr %y_at, align 4
  %double = fmul float %x_value, 2.0
  %sum = fadd float %double, %y_value
  %out_at = getelementptr inbounds float, ptr %out, i64 %i
  store float %sum, ptr %out_at, align 4
  %next = add nsw i64 %i, 1
  br label %head
done:
  ret i32 0
}
"""

# Adds 1 to state[0], then waits until state[0] is state[1], for some seconds at most; state[2] is
# set to 1 if it came to be.
MEET = """
define i32 @meet(ptr %state) {
entry:
  %before = atomicrmw add ptr %state, i64 1 seq_cst
  %wanted_at = getelementptr i64, ptr %state, i64 1
  %met_at = getelementptr i64, ptr %state, i64 2
  br label %wait
wait:
  %trip = phi i64 [0, %entry], [%next, %again]
  %arrived = load atomic volatile i64, ptr %state seq_cst, align 8
  %wanted = load atomic volatile i64, ptr %wanted_at seq_cst, align 8
  %met = icmp eq i64 %arrived, %wanted
  br i1 %met, label %success, label %again
again:
  %next = add i64 %trip, 1
  %enough = icmp eq i64 %next, 8000000000
  br i1 %enough, label %done, label %wait
success:
  store atomic i64 1, ptr %met_at seq_cst, align 8
  br label %done
done:
  ret i32 0
}
"""


@dataclass(frozen=True)
class Written:
    """A declared kernel and its code."""

    kernel: Kernel
    llvm: str

    def compiled(self, machine: Machine) -> CompiledKernel:
        return compile_kernel(self.kernel, self.llvm, machine, cache=ObjectCache(None))


@pytest.fixture
def host() -> Machine:
    return detect_host()


@pytest.fixture
def saxpy() -> Written:
    build = KernelBuilder("saxpy")
    n = build.parameter("n")
    x = build.input("x", "f32", (n,))
    y = build.input("y", "f32", (n,))
    scratch = build.temporary("scratch", "f32", (n,))
    out = build.output("out", "f32", (n,))
    with build.loops(i=n) as i:
        scratch[i] = 2.0 * x[i]
        out[i] = scratch[i] + y[i]
    return Written(build.kernel(), SAXPY)


@pytest.fixture
def meet() -> Written:
    build = KernelBuilder("meet")
    state = build.inout("state", "i64", (3,))
    with build.loops(i=1) as i:
        state[i] = state[i] + 1
    return Written(build.kernel(), MEET)


@pytest.fixture
def rows() -> Kernel:
    """``out`` declared between its inputs, extents that are sums and multiples, a context."""
    build = KernelBuilder("rows")
    n = build.parameter("N", minimum=1)
    h = build.parameter("H", minimum=1, maximum=100)
    x = build.input("x", "f32", (n, h + 2))
    out = build.output("out", "f64", (n, 2 * h))
    total = build.inout("total", "i32", (n,))
    with build.loops(i=n) as i:
        out[i, 0] = 1.0
        total[i] = total[i] + 1
    assert x.array.name == "x"
    return build.kernel()


@pytest.fixture
def pair() -> Pair:
    """A team of two, whose thread sleeps."""
    return started_pair()
