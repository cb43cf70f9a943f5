"""Print a loop program as one self-contained function that is valid C99 and C++17.

The function is ``int NAME(arrays..., parameters...)``: the argument arrays in declaration order,
row-major or with their strides, then the parameters as ``int64_t``. It returns 0, or 1 if its
workspace cannot be allocated; nothing has been written then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from polysched.ir.core.guards import guarded_update
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.traversal import loads
from polysched.loops.analysis.lanes import MaskedAssign, masked_assigns
from polysched.loops.analysis.usage import accessed_arrays, lasting_temporaries
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    InstructionCall,
    LoopNode,
    LoopProgram,
    TileCall,
    Transposition,
)
from polysched.loops.printers.c_expressions import CExpressions
from polysched.loops.printers.c_helpers import (
    PRAGMAS,
    UNROLLED,
    VECTOR,
    WORKSPACE,
    c_type,
    helper_text,
)
from polysched.loops.printers.c_names import c_names
from polysched.loops.printers.c_needs import helpers_of, require_c_types, used_names
from polysched.loops.printers.pseudo import format_prefetch
from polysched.loops.trim_no_ops import trim_no_ops

# Buffers of a constant size up to this many bytes stand on the stack.
_STACK_BYTES = 16 * 1024

C_LINKAGE = """\
#ifdef __cplusplus
extern "C"
#endif
"""
"""Before a definition: C++ gives the function the name that it has in C."""

_PROLOGUE = """\
/* Compile with -ffp-contract=off (the default under -std=c99), link with -lm. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
"""


def print_c(program: LoopProgram) -> str:
    """Print a file that defines the program as a function, in C99 that is also C++17.

    Compilers do not warn of it, with ``-Wall -Wextra -Wpedantic``.

    The arithmetic is that of :mod:`polysched.ir.semantics.scalar`, except that functions
    such as ``exp`` are the C library's.

    Raises:
        LoweringError: a vector loop whose body has no vector meaning, integers of a width that C
            does not have, or a loop that only data bounds and whose body runs in all iterations.
    """
    return print_c_functions((program,))


def print_c_functions(programs: Sequence[LoopProgram]) -> str:
    """Print a file that defines several programs as functions; see `print_c`."""
    programs = list(map(trim_no_ops, programs))
    for program in programs:
        require_c_types(program)
    helpers = list(dict.fromkeys(helper for program in programs for helper in helpers_of(program)))
    parts, functions = [_PROLOGUE, *map(helper_text, helpers)], []
    needs_workspace = False
    for program in programs:
        names = c_names(program, {helper.name for helper in helpers})
        printer = _Printer(program, CExpressions(program.arrays, names.arrays, names.variables))
        needs_workspace |= bool(printer.heap_arrays())
        functions.append("\n".join(printer.function(names.function)) + "\n")
    if needs_workspace:
        parts.append(WORKSPACE)
    if any(VECTOR in text or UNROLLED in text for text in functions):
        parts.append(PRAGMAS)
    return "\n".join([*parts, *functions])


def function_name(program: LoopProgram) -> str:
    """The name of the function in `print_c`: the program's own, unless C has another use for it."""
    helpers = helpers_of(trim_no_ops(program))
    return c_names(program, {helper.name for helper in helpers}).function


@dataclass(frozen=True)
class _Printer:
    program: LoopProgram
    expressions: CExpressions

    def function(self, name: str) -> list[str]:
        """The definition: workspace, loops, release."""
        arguments = [a for a in self.program.arrays.values() if a.role is not Role.TEMPORARY]
        parameters = [
            f"int64_t {self.expressions.variable_names[name]}" for name in self.program.parameters
        ]
        signature = ", ".join([*map(self.argument, arguments), *parameters]) or "void"
        heap = [self.expressions.array_names[array.name] for array in self.heap_arrays()]
        names = [*self.expressions.array_names.items(), *self.expressions.variable_names.items()]
        given = {*(array.name for array in arguments), *self.program.parameters}
        used = used_names(self.program)
        body = [
            *(f"(void){c_name};" for name, c_name in names if name in given - used),
            *self.workspace(),
            *self.lines(self.program.body),
            *(f"free({name});" for name in reversed(heap)),
            "return 0;",
        ]
        promises = [promise for array in arguments for promise in self.promised_values(array)]
        return [
            *C_LINKAGE.splitlines(),
            *promises,
            f"int {name}({signature})",
            "{",
            *_indented(body),
            "}",
        ]

    def promised_values(self, array: Array) -> list[str]:
        """A comment on the caller's duties: the values of index arrays lie in their range."""
        if array.values is None:
            return []
        lower, upper = (self.expressions.text(end) for end in array.values)
        name = self.expressions.array_names[array.name]
        return [f"/* {lower} <= value < {upper} for every value in {name} */"]

    def argument(self, array: Array) -> str:
        constant = "const " if array.role is Role.INPUT else ""
        return (
            f"{constant}{c_type(array.dtype)} *restrict {self.expressions.array_names[array.name]}"
        )

    def heap_arrays(self) -> list[Array]:
        """The temporaries and buffers from the heap; allocated before anything is written."""
        accessed = accessed_arrays(self.program.body)
        temporaries = [a for a in self.program.arrays.values() if a.role is Role.TEMPORARY]
        return [a for a in temporaries if a.name in accessed and _stack_elements(a) is None]

    def workspace(self) -> list[str]:
        """Lasting small arrays on the stack, everything else from the heap."""
        lines = [
            self.stack_array(array)
            for array in lasting_temporaries(self.program)
            if _stack_elements(array) is not None
        ]
        heap = self.heap_arrays()
        for array in heap:
            kind, name = c_type(array.dtype), self.expressions.array_names[array.name]
            count = self.element_count(array)
            memory = f"({kind} *)workspace({count}, sizeof({kind}))"
            lines.append(f"{kind} *restrict {name} = {memory};")
        if heap:
            names = [self.expressions.array_names[array.name] for array in heap]
            release = [f"free({name});" for name in reversed(names)]
            missing = " || ".join(f"!{name}" for name in names)
            lines += [f"if ({missing}) {{", *_indented([*release, "return 1;"]), "}"]
        return lines

    def element_count(self, array: Array) -> str:
        first, *others = map(self.expressions.text, array.stored_shape)
        return reduce(lambda count, extent: f"elements({count}, {extent})", others, first)

    def stack_array(self, array: Array) -> str:
        name = self.expressions.array_names[array.name]
        return f"{c_type(array.dtype)} {name}[{_stack_elements(array)}];"

    def lines(self, node: LoopNode) -> list[str]:
        """The statements of a node."""
        match node:
            case For(kind=LoopKind.VECTOR):
                return [
                    line
                    for masked in masked_assigns(node)
                    for line in self.vector_assignment(node, masked)
                ]
            case For(body=body, kind=kind):
                is_unrolled = kind is LoopKind.UNROLLED
                is_literal = isinstance(node.lower, Constant) and isinstance(node.upper, Constant)
                pragma = f"{UNROLLED} " if is_unrolled and is_literal else ""
                note = " /* unrolled */" if is_unrolled else ""
                prefetches = [f"/* {format_prefetch(prefetch)} */" for prefetch in node.prefetches]
                ends = [] if node.until is None else [self.if_head([node.until]), "  break;", "}"]
                inner = _indented([*ends, *prefetches, *self.lines(body)])
                return [f"{pragma}{self.loop_head(node)}{note}", *inner, "}"]
            case If(condition=condition, then=then, otherwise=otherwise):
                result = [self.if_head([condition]), *_indented(self.lines(then))]
                if otherwise is not None:
                    result += ["} else {", *_indented(self.lines(otherwise))]
                return [*result, "}"]
            case Block(children=children):
                return [line for child in children for line in self.lines(child)]
            case Allocate(array=name, body=body):
                array, inner = self.program.arrays[name], self.lines(body)
                if _stack_elements(array) is None or name not in accessed_arrays(body):
                    return inner
                return ["{", *_indented([self.stack_array(array), *inner]), "}"]
            case (
                InstructionCall(meaning=meaning)
                | TileCall(meaning=meaning)
                | Transposition(meaning=meaning)
            ):
                return self.lines(meaning)
            case Assign():
                return [self.assignment(node)]

    def loop_head(self, loop: For) -> str:
        name = self.expressions.variable_names[loop.variable]
        lower, upper = self.expressions.text(loop.lower), self.expressions.text(loop.upper)
        step = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"
        return f"for (int64_t {name} = {lower}; {name} < {upper}; {step}) {{"

    def if_head(self, conditions: Iterable[Expression]) -> str:
        texts = [self.expressions.text(condition) for condition in conditions]
        joined = texts[0] if len(texts) == 1 else " && ".join(f"({text})" for text in texts)
        return f"if ({joined}) {{"

    def assignment(self, node: Assign) -> str:
        """An assignment; of a guarded array under its condition."""
        guarded = guarded_update(node.target, node.value, self.program.arrays)
        condition, value = (None, node.value) if guarded is None else guarded
        element = self.expressions.element(node.target.array, node.target.subscripts)
        conditions = [] if condition is None else [f"({self.expressions.value(condition)})"]
        conditions += filter(None, [self.expressions.existence(node.target.subscripts)])
        runs = f"if ({' && '.join(conditions)}) " if conditions else ""
        return f"{runs}{element} = {self.expressions.value(value)};"

    def vector_assignment(self, loop: For, masked: MaskedAssign) -> list[str]:
        """All lanes of an assignment; through a copy if a lane reads what another lane writes."""
        if not _lanes_interfere(loop, masked.assign):
            head = f"{VECTOR} {self.loop_head(loop)} /* vector */"
            inner = self.under_mask(masked, self.assignment(masked.assign))
            return [head, *_indented(inner), "}"]
        target, value = masked.assign.target, masked.assign.value
        element = self.expressions.element(target.array, target.subscripts)
        if exists := self.expressions.existence(target.subscripts):
            element = f"if ({exists}) {element}"
        guarded = guarded_update(target, value, self.program.arrays)
        lower, upper = self.expressions.text(loop.lower), self.expressions.text(loop.upper)
        number = f"{self.expressions.variable_names[loop.variable]} - ({lower})"
        lane, runs = f"lanes[{number}]", f"runs[{number}]"
        if guarded is None:
            declared, writes = [], f"{element} = {lane};"
            reads = f"{lane} = {self.expressions.value(value)};"
        else:
            condition, changed = map(self.expressions.value, guarded)
            declared, writes = [f"bool runs[{loop.lanes}];"], f"if ({runs}) {element} = {lane};"
            reads = f"if (({runs} = {condition})) {lane} = {changed};"
        kind = c_type(self.program.arrays[target.array].dtype)
        head = f"{VECTOR} {self.loop_head(loop)}"
        return [
            f"if (({lower}) < ({upper})) {{ /* vector: all lanes read before any writes */",
            *_indented(
                [
                    *declared,
                    f"{kind} lanes[{loop.lanes}];",
                    head,
                    *_indented(self.under_mask(masked, reads)),
                    "}",
                    head,
                    *_indented(self.under_mask(masked, writes)),
                    "}",
                ]
            ),
            "}",
        ]

    def under_mask(self, masked: MaskedAssign, statement: str) -> list[str]:
        if not masked.mask:
            return [statement]
        return [self.if_head(masked.mask), *_indented([statement]), "}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _stack_elements(array: Array) -> int | None:
    """The number of elements of an array that is small enough for the stack, else None."""
    count = 1
    for extent in array.stored_shape:
        if not isinstance(extent, Constant):
            return None
        count *= int(extent.value)
    return max(1, count) if count * array.dtype.bytes <= _STACK_BYTES else None


def _lanes_interfere(loop: For, assign: Assign) -> bool:
    """Whether a lane may read an element that another lane writes; true if in doubt."""
    target = assign.target
    own = [load for load in loads(assign.value) if load.array == target.array]
    if any(load.subscripts != target.subscripts for load in own):
        return True
    forms = [linear_form(subscript, {}).without(loop.variable) for subscript in target.subscripts]
    return bool(own) and not any(step and not form.uses({loop.variable}) for form, step in forms)
