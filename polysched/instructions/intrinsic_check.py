"""Check that LLVM has code for the intrinsic of a declared instruction.

If an intrinsic is not available for a target, LLVM aborts the process. A declaration may name the
wrong features, so its intrinsic is compiled in a process of its own first.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from types import MappingProxyType

from polysched.instructions.declaration import Instruction
from polysched.ir.expr.dtypes import DType, bf16, f16, f32, f64
from polysched.machine.description import Machine

_SECONDS = 60
_FLOATS = MappingProxyType({bf16: "bfloat", f16: "half", f32: "float", f64: "double"})
_COMPILE = """
import sys
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
triple, cpu, features, intrinsic = sys.argv[1:]
module = binding.parse_assembly(sys.stdin.read())
module.verify()
target = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
if intrinsic in target.emit_assembly(module):
    sys.exit("LLVM knows no such intrinsic")
"""


def uncompilable(instruction: Instruction, machine: Machine) -> str | None:
    """Return why LLVM has no code for an instruction on a machine; None if it has."""
    target = machine.triple, machine.cpu, machine.features
    return _failure(_module(instruction), *target, instruction.intrinsic)


@lru_cache(maxsize=64)
def _failure(module: str, triple: str, cpu: str, features: str, intrinsic: str) -> str | None:
    command = [sys.executable, "-c", _COMPILE, triple, cpu, features, intrinsic]
    try:
        done = subprocess.run(
            command, input=module, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"LLVM did not finish in {_SECONDS} seconds"
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or ["LLVM aborted"])[-1]


def _module(instruction: Instruction) -> str:
    """The LLVM text of a module with one function that calls the intrinsic on its arguments."""
    arrays, target = instruction.kernel.arrays, instruction.statement.target.array
    if instruction.is_tile:
        return _tile_module(instruction.intrinsic, len({target, *instruction.operands}))
    own = arrays[target].dtype
    result = _vector(instruction.result or own, instruction.lanes)
    types = [
        _vector(own, instruction.lanes)
        if name == target
        else _vector(arrays[name].dtype, instruction.lanes * instruction.lane_width(name))
        for name in instruction.operands
    ]
    pointers = ", ".join(f"ptr %p{number}" for number in range(len(types)))
    loads = "".join(
        f"  %v{number} = load {type_}, ptr %p{number}\n" for number, type_ in enumerate(types)
    )
    given = ", ".join(f"{type_} %v{number}" for number, type_ in enumerate(types))
    callee = f"{result} @{instruction.intrinsic}"
    return (
        f"declare {callee}({', '.join(types)})\n"
        f"define void @check({pointers}, ptr %out) {{\n{loads}"
        f"  %result = call {callee}({given})\n"
        f"  store {result} %result, ptr %out\n  ret void\n}}\n"
    )


def _tile_module(intrinsic: str, registers: int) -> str:
    """The LLVM text of a module that calls an intrinsic on numbered tile registers."""
    numbers = ", ".join(f"i8 {number}" for number in range(registers))
    return (
        f"declare void @{intrinsic}({', '.join(['i8'] * registers)})\n"
        f"define void @check() {{\n  call void @{intrinsic}({numbers})\n  ret void\n}}\n"
    )


def _vector(dtype: DType, lanes: int) -> str:
    element = _FLOATS.get(dtype, f"i{dtype.bits}")
    return f"<{lanes} x {element}>"
