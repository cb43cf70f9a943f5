"""Emit ``NAME_supported``, which checks whether the processor can run the module.

::

    int NAME_supported(void) {
        if (state == UNKNOWN)        // atomic: threads may call this concurrently
            state = all features are present ? KNOWN : MISSING;
        return state == KNOWN;
    }

Inline assembly executes ``cpuid``, so the compiler's run-time library, which has a function for
some of the features, need not be linked. The result is cached for the process, because ``cpuid``
traps in virtual machines and takes tens of microseconds there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.function_builder import compile_for, new_function
from polysched.machine.cpuid import Question, Register

BASELINE = ("x86-64", "+sse2")
"""The processor and features of code that must run on every 64-bit x86 processor."""

_INT32 = ir.IntType(32)
_UNKNOWN, _KNOWN, _MISSING = 0, 1, 2
_FOUR = ir.LiteralStructType([_INT32] * 4)
_TWO = ir.LiteralStructType([_INT32] * 2)
_CPUID = "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"
_XGETBV = "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"


@dataclass(frozen=True, eq=False)
class ProcessorCheck:
    """The function ``i32 ()`` that checks the processor's features, and its cached result."""

    function: ir.Function
    state: ir.GlobalVariable

    def is_known(self, builder: ir.IRBuilder) -> Any:
        """Emit the test of the cached result (i1): one load."""
        return builder.icmp_unsigned("==", _load(builder, self.state), _INT32(_KNOWN))


def emit_processor_check(
    module: ir.Module, name: str, questions: Sequence[Question]
) -> ProcessorCheck:
    """Add the function ``NAME_supported``, which checks the features."""
    state = ir.GlobalVariable(module, _INT32, f"{name}.processor")
    state.linkage = "internal"
    state.initializer = _INT32(_UNKNOWN)
    function, builder = new_function(module, f"{name}_supported", ir.FunctionType(_INT32, []))
    compile_for(function, *BASELINE)
    before = _load(builder, state)
    with builder.if_then(builder.icmp_unsigned("!=", before, _INT32(_UNKNOWN))):
        is_known = builder.icmp_unsigned("==", before, _INT32(_KNOWN))
        builder.ret(builder.zext(is_known, _INT32))
    for question in questions:
        with builder.if_then(builder.not_(_answer(builder, question)), likely=False):
            _store(builder, state, _MISSING)
            builder.ret(_INT32(0))
    _store(builder, state, _KNOWN)
    builder.ret(_INT32(1))
    return ProcessorCheck(function, state)


def _answer(builder: ir.IRBuilder, question: Question) -> Any:
    """Emit the test of whether the processor has all features (i1)."""
    if question.leaf is None:
        extended = ir.FunctionType(_TWO, [_INT32])
        answers = builder.asm(extended, "xgetbv", _XGETBV, [_INT32(0)], True)
        assert question.register is Register.EAX
    else:
        identification = ir.FunctionType(_FOUR, [_INT32, _INT32])
        inputs = [_INT32(question.leaf), _INT32(question.subleaf)]
        answers = builder.asm(identification, "cpuid", _CPUID, inputs, True)
    value = builder.extract_value(answers, question.register)
    mask, minimum = _INT32(question.mask), _INT32(question.minimum)
    has_bits = builder.icmp_unsigned("==", builder.and_(value, mask), mask)
    return builder.and_(has_bits, builder.icmp_unsigned(">=", value, minimum))


def _load(builder: ir.IRBuilder, state: ir.GlobalVariable) -> Any:
    return builder.load_atomic(state, "monotonic", 4, typ=_INT32)


def _store(builder: ir.IRBuilder, state: ir.GlobalVariable, value: int) -> None:
    builder.store_atomic(_INT32(value), state, "monotonic", 4)
