"""polysched: schedule affine loop nests with Halide's primitives, prove them legal, compile them.

::

    import polysched as ps

    build = ps.KernelBuilder("scale")
    n = build.parameter("n", minimum=1)
    x = build.input("x", ps.f32, (n,))
    y = build.output("y", ps.f32, (n,))
    with build.loops(i=n) as i:
        y[i] = 2 * x[i]

    schedule = ps.Schedule(build.kernel()).vectorize("i", 16)
    run = schedule.compile()
    print(run(numpy.arange(100, dtype="float32")))
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from polysched.errors import (
    AssemblyError,
    BenchError,
    CacheWarning,
    CallError,
    CodeTooLargeError,
    EmptyDomainError,
    ExportError,
    FrontendError,
    InstructionError,
    KernelError,
    LoopReferenceError,
    LoweringError,
    MachineError,
    NoAttributeError,
    OutOfMemoryError,
    PlotError,
    PolyschedError,
    ScheduleError,
    SlowScheduleWarning,
    StepError,
    SubscriptError,
    TargetError,
    UnboundError,
    suggestion,
)
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import (
    DType,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from polysched.ir.expr.functions import (
    absolute,
    cast,
    equal,
    exp,
    fma,
    maximum,
    minimum,
    not_equal,
    select,
    sqrt,
)
from polysched.ir.expr.numpy_functions import NUMPY_FUNCTIONS
from polysched.ir.expr.saturation import saturate
from polysched.ir.isl.budget import time_budget
from polysched.ir.semantics.bit_packing import pack_bits, unpack_bits
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.collection import collection_paused
from polysched.schedule.core.foreign_names import MODULE_NAMES

if TYPE_CHECKING:
    from polysched import library
    from polysched.frontends.einsum.call import einsum
    from polysched.frontends.python.decorator import kernel
    from polysched.frontends.python.jit import jit
    from polysched.frontends.python.source.annotations import Array
    from polysched.frontends.python.source.labels import statement
    from polysched.frontends.scop import load_c
    from polysched.instructions.declaration import Instruction
    from polysched.legality.check import check
    from polysched.legality.repairs.search import repairs
    from polysched.legality.reports.loop_properties import explain_loops
    from polysched.legality.verdicts.verdict import (
        IllegalScheduleError,
        RefusedScheduleError,
        UnknownLegalityError,
        Verdict,
    )
    from polysched.library.attention.call import attention
    from polysched.library.convolution.call import conv1d, conv2d, conv3d
    from polysched.library.convolution.prepare import PreparedWeight, prepare
    from polysched.library.dynamic_linear.matrix import PreparedMatrix
    from polysched.library.matmul.dispatch.call import matmul
    from polysched.library.matmul.dispatch.computed import Computed, Input, computed
    from polysched.library.rows.call import layer_norm, softmax
    from polysched.library.transpose.call import transpose
    from polysched.lower import export, show
    from polysched.runtime.kernel import CompiledKernel
    from polysched.user import Schedule, compile, optimize
    from polysched.version import __version__

_LAZY = MappingProxyType(
    {
        "Array": "polysched.frontends.python.source.annotations",
        "CompiledKernel": "polysched.runtime.kernel",
        "Computed": "polysched.library.matmul.dispatch.computed",
        "Instruction": "polysched.instructions.declaration",
        "Input": "polysched.library.matmul.dispatch.computed",
        "IllegalScheduleError": "polysched.legality.verdicts.verdict",
        "RefusedScheduleError": "polysched.legality.verdicts.verdict",
        "PreparedMatrix": "polysched.library.dynamic_linear.matrix",
        "PreparedWeight": "polysched.library.convolution.prepare",
        "Schedule": "polysched.user",
        "UnknownLegalityError": "polysched.legality.verdicts.verdict",
        "Verdict": "polysched.legality.verdicts.verdict",
        "__version__": "polysched.version",
        "attention": "polysched.library.attention.call",
        "check": "polysched.legality.check",
        "compile": "polysched.user",
        "computed": "polysched.library.matmul.dispatch.computed",
        "conv1d": "polysched.library.convolution.call",
        "conv2d": "polysched.library.convolution.call",
        "conv3d": "polysched.library.convolution.call",
        "einsum": "polysched.frontends.einsum.call",
        "explain_loops": "polysched.legality.reports.loop_properties",
        "export": "polysched.lower",
        "jit": "polysched.frontends.python.jit",
        "kernel": "polysched.frontends.python.decorator",
        "layer_norm": "polysched.library.rows.call",
        "load_c": "polysched.frontends.scop",
        "matmul": "polysched.library.matmul.dispatch.call",
        "optimize": "polysched.user",
        "prepare": "polysched.library.convolution.prepare",
        "repairs": "polysched.legality.repairs.search",
        "show": "polysched.lower",
        "softmax": "polysched.library.rows.call",
        "statement": "polysched.frontends.python.source.labels",
        "transpose": "polysched.library.transpose.call",
    }
)
"""Public names that are imported on first use, by module.

They need the checker, LLVM and the runtime, whose import takes a third of the total import time.
"""


def __getattr__(name: str) -> Any:
    if name == "library":
        return import_module("polysched.library")
    if name in _LAZY:
        with collection_paused():
            value = getattr(import_module(_LAZY[name]), name)
        # Later lookups find the global and skip this function, which takes a microsecond.
        globals()[name] = value
        return value
    raise AttributeError(f"module 'polysched' has no attribute '{name}'{_hint(name)}")


def _hint(name: str) -> str:
    if name.startswith("_"):
        return ""
    if name in {function.__name__ for function in NUMPY_FUNCTIONS}:
        return f"; call numpy's function in a kernel: np.{name}(x[i])"
    if name in MODULE_NAMES:
        return f"; write {MODULE_NAMES[name]}"
    if hasattr(import_module("polysched.user").Schedule, name):
        return f"; it is a method of a schedule: ps.Schedule(kernel).{name}(...)"
    near = suggestion(name, __all__)
    return near if near.startswith("; did") else "; dir(polysched) lists the names"


def __dir__() -> list[str]:
    """List the public names, including those that are imported on first use."""
    return [*__all__]


__all__ = [
    "Array",
    "AssemblyError",
    "BenchError",
    "CacheWarning",
    "CallError",
    "CodeTooLargeError",
    "CompiledKernel",
    "Computed",
    "DType",
    "EmptyDomainError",
    "ExportError",
    "FrontendError",
    "IllegalScheduleError",
    "Input",
    "Instruction",
    "InstructionError",
    "Kernel",
    "KernelBuilder",
    "KernelError",
    "LoopReferenceError",
    "LoweringError",
    "Machine",
    "MachineError",
    "NoAttributeError",
    "OutOfMemoryError",
    "PlotError",
    "PolyschedError",
    "PreparedMatrix",
    "PreparedWeight",
    "RefusedScheduleError",
    "Schedule",
    "ScheduleError",
    "SlowScheduleWarning",
    "StepError",
    "SubscriptError",
    "TargetError",
    "UnboundError",
    "UnknownLegalityError",
    "Verdict",
    "__version__",
    "absolute",
    "attention",
    "bf16",
    "boolean",
    "cast",
    "check",
    "compile",
    "computed",
    "conv1d",
    "conv2d",
    "conv3d",
    "einsum",
    "equal",
    "exp",
    "explain_loops",
    "export",
    "f16",
    "f32",
    "f64",
    "fma",
    "i8",
    "i16",
    "i32",
    "i64",
    "jit",
    "kernel",
    "layer_norm",
    "library",
    "load_c",
    "load_machine",
    "matmul",
    "maximum",
    "minimum",
    "not_equal",
    "optimize",
    "pack_bits",
    "prepare",
    "repairs",
    "saturate",
    "select",
    "show",
    "softmax",
    "sqrt",
    "statement",
    "time_budget",
    "transpose",
    "u8",
    "u16",
    "u32",
    "u64",
    "unpack_bits",
]
