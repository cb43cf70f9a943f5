"""Check that LLVM has code for the intrinsic of a declared instruction.

If an intrinsic is not available for a target, LLVM aborts the process. A declaration may name the
wrong features, so its intrinsic is compiled in a process of its own first.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache

from llvmlite import ir

from polysched.codegen.intrinsics import vector_type
from polysched.codegen.values import element_type
from polysched.instructions.declaration import Instruction
from polysched.machine.description import Machine
from polysched.vector.ir import lane_width

_SECONDS = 60
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
    """A module with one function that calls the intrinsic on its arguments."""
    arrays, target = instruction.kernel.arrays, instruction.statement.target.array
    result = vector_type(element_type(arrays[target].dtype), instruction.lanes)
    types = [
        result
        if name == target
        else vector_type(
            element_type(arrays[name].dtype), instruction.lanes * lane_width(instruction, name)
        )
        for name in instruction.operands
    ]
    module, pointer = ir.Module(name="check"), ir.PointerType()
    signature = ir.FunctionType(ir.VoidType(), [pointer] * (len(types) + 1))
    function = ir.Function(module, signature, "check")
    builder = ir.IRBuilder(function.append_basic_block())
    *places, out = function.args
    given = [builder.load(place, typ=type_) for place, type_ in zip(places, types, strict=True)]
    callee = ir.Function(module, ir.FunctionType(result, types), instruction.intrinsic)
    builder.store(builder.call(callee, given), out)
    builder.ret_void()
    return str(module)
