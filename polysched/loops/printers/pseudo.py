"""Print loop programs as readable pseudocode.

::

    program scale
    parameters n with n >= 1
    input x: f32[n]
    output y: f32[n]

    for io in 0..(n//16):
      vector i in 0..16:
        y[16*io + i] = 2*x[16*io + i]

The upper end of a range is excluded.
"""

from __future__ import annotations

from polysched.ir.core.kernel import Role
from polysched.ir.core.printing import (
    format_access,
    format_array,
    format_declarations,
    format_expression,
    format_header,
)
from polysched.ir.expr.expressions import Constant, Expression, Index, Parameter
from polysched.ir.expr.linear import simplify
from polysched.loops.analysis.usage import lasting_temporaries
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    InstructionCall,
    LoopNode,
    LoopProgram,
    Prefetch,
    TileCall,
    Transposition,
)

_INDENT = "  "


def print_loops(program: LoopProgram) -> str:
    """Print a program: its arguments, then its loops."""
    arguments = [a for a in program.arrays.values() if a.role is not Role.TEMPORARY]
    lines = [
        f"program {program.name}",
        *format_header(program.parameters, program.context),
        *format_declarations([*arguments, *lasting_temporaries(program)]),
        "",
        *_lines(program, program.body),
    ]
    return "\n".join(lines) + "\n"


def _lines(program: LoopProgram, node: LoopNode) -> list[str]:
    match node:
        case For(variable=variable, kind=kind, body=body):
            end = "" if node.until is None else f" until {format_expression(node.until)}"
            head = f"{kind.value} {variable} in {_range(node)}{end}:"
            prefetches = [f"{_INDENT}{format_prefetch(prefetch)}" for prefetch in node.prefetches]
            return [head, *prefetches, *_indented(program, body)]
        case If(condition=condition, then=then, otherwise=otherwise):
            lines = [f"if {format_expression(condition)}:", *_indented(program, then)]
            if otherwise is not None:
                lines += ["else:", *_indented(program, otherwise)]
            return lines
        case Block(children=children):
            return [line for child in children for line in _lines(program, child)]
        case Allocate(array=name, body=body):
            return [f"allocate {format_array(program.arrays[name])}", *_lines(program, body)]
        case InstructionCall(meaning=meaning, instruction=instruction):
            (line,) = _lines(program, meaning)
            return [f"{line}  # {instruction.name}"]
        case TileCall(meaning=whole, instruction=instruction):
            head, *inner = _lines(program, whole)
            return [f"{head}  # {instruction.name}", *inner]
        case Transposition(meaning=meaning):
            return _lines(program, meaning)
        case Assign(target=target, value=value):
            return [f"{format_access(target)} = {format_expression(value)}"]


def format_prefetch(request: Prefetch) -> str:
    """Format a prefetch: ``prefetch b[k + 8, 0..32]``."""
    box = ", ".join(
        format_expression(start)
        if extent == 1
        else f"{_bound(start)}..{_bound(simplify(start + extent, {}))}"
        for start, extent in zip(request.start, request.extents, strict=True)
    )
    level = "" if request.level == 1 else f" to level {request.level}"
    return f"prefetch {request.array}[{box}]{level}"


def _indented(program: LoopProgram, body: LoopNode) -> list[str]:
    return [_INDENT + line for line in _lines(program, body) or ["pass"]]


def _range(loop: For) -> str:
    step = "" if loop.step == 1 else f" step {loop.step}"
    return f"{_bound(loop.lower)}..{_bound(loop.upper)}{step}"


def _bound(bound: Expression) -> str:
    text = format_expression(bound)
    return text if isinstance(bound, Constant | Index | Parameter) else f"({text})"
