"""Run the steps of a plan in machine code: one call from Python for all of them.

A call from Python by ctypes takes 1.5 microseconds, which is as long as a small block. The function
is::

    i32 run_steps(ptr a, ptr b, ptr out, ptr scratch, ptr steps, i64 count)

``steps`` are records of ``_RECORD`` 64-bit numbers: the kernel's address, its kind, the numbers of
its arrays (0 to 3 in the order above), their first bytes, and its parameters. The kinds are the
signatures in ``KINDS``. The function returns the first status that is not 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cache

from polysched.library.matmul.generic.blocks import Block
from polysched.library.matmul.generic.plan import Step
from polysched.machine.description import Machine
from polysched.runtime.cache import default_cache
from polysched.runtime.jit import Entry, compile_module
from polysched.runtime.pipeline import CompileOptions

KINDS = ((3, 10), (3, 9), (3, 8), (2, 4))
"""The signatures of kernels: the numbers of arrays and of parameters, which all differ."""

_ARRAYS, _PARAMETERS = max(KINDS)
_PADDED = {
    parameters: (kind, (0,) * (_ARRAYS - arrays), (0,) * (_PARAMETERS - parameters))
    for kind, (arrays, parameters) in enumerate(KINDS)
}
_RECORD = 2 + 2 * _ARRAYS + _PARAMETERS
RECORD_BYTES = 8 * _RECORD


def encoded(steps: Sequence[Step], address: Callable[[Block], int], element_bytes: int) -> bytes:
    """The records of the steps of a plan.

    Args:
        address: returns the address of the code of a kernel.
        element_bytes: bytes of an element.
    """
    numbers: list[int] = []
    for block, arrays, starts, parameters in steps:
        kind, none, rest = _PADDED[len(parameters)]
        first_bytes = [element_bytes * start for start in starts]
        numbers += (address(block), kind, *arrays, *none, *first_bytes, *none, *parameters, *rest)
    return array("q", numbers).tobytes()


@cache
def step_runner(machine: Machine) -> Callable[..., int]:
    """The function, compiled for a machine once in a process; it has no vectors."""
    entry = Entry("run_steps", pointers=5, integers=1)
    return compile_module(runner_module(), entry, machine, CompileOptions(), default_cache()).call


def runner_module() -> str:
    """The LLVM IR of the function."""
    pointers = "".join(
        f"  %slot{at} = getelementptr ptr, ptr %bases, i64 {at}\n"
        f"  store ptr %{name}, ptr %slot{at}\n"
        for at, name in enumerate(("a", "b", "out", "scratch"))
    )
    cases = " ".join(f"i64 {kind}, label %kind{kind}" for kind in range(len(KINDS)))
    calls = "".join(_call(kind, *signature) for kind, signature in enumerate(KINDS))
    results = ", ".join(f"[ %status{kind}, %kind{kind} ]" for kind in range(len(KINDS)))
    return f"""
define i32 @run_steps(ptr %a, ptr %b, ptr %out, ptr %scratch, ptr %steps, i64 %count) {{
entry:
  %bases = alloca [4 x ptr]
{pointers}  %some = icmp sgt i64 %count, 0
  br i1 %some, label %step, label %done
step:
  %at = phi i64 [ 0, %entry ], [ %next, %continue ]
  %first = mul i64 %at, {_RECORD}
  %record = getelementptr i64, ptr %steps, i64 %first
  %code = load ptr, ptr %record
  %kind.at = getelementptr i64, ptr %record, i64 1
  %kind = load i64, ptr %kind.at
  switch i64 %kind, label %unknown [ {cases} ]
{calls}unknown:
  ret i32 2
joined:
  %status = phi i32 {results}
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %fail, label %continue
fail:
  ret i32 %status
continue:
  %next = add i64 %at, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %step, label %done
done:
  ret i32 0
}}
"""


def _call(kind: int, arrays: int, parameters: int) -> str:
    """The block that calls a kernel of one kind."""
    lines, arguments = [f"kind{kind}:"], []
    for at in range(arrays):
        name = f"%k{kind}.array{at}"
        lines += [
            f"{name}.at = getelementptr i64, ptr %record, i64 {2 + at}",
            f"{name}.number = load i64, ptr {name}.at",
            f"{name}.slot = getelementptr ptr, ptr %bases, i64 {name}.number",
            f"{name}.base = load ptr, ptr {name}.slot",
            f"{name}.begin = getelementptr i64, ptr %record, i64 {2 + _ARRAYS + at}",
            f"{name}.offset = load i64, ptr {name}.begin",
            f"{name} = getelementptr i8, ptr {name}.base, i64 {name}.offset",
        ]
        arguments.append(f"ptr {name}")
    for at in range(parameters):
        name = f"%k{kind}.parameter{at}"
        lines += [
            f"{name}.at = getelementptr i64, ptr %record, i64 {2 + 2 * _ARRAYS + at}",
            f"{name} = load i64, ptr {name}.at",
        ]
        arguments.append(f"i64 {name}")
    lines += [f"%status{kind} = call i32 %code({', '.join(arguments)})", "br label %joined"]
    return "\n  ".join(lines) + "\n"
