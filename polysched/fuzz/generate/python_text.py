"""Print a kernel sketch and the steps of a schedule as a self-contained Python script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from polysched.fuzz.generate.sketch import (
    NAME,
    AssignSketch,
    KernelSketch,
    LoopSketch,
    PartSketch,
    WhereSketch,
)
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.operators import Operator
from polysched.schedule.table import Step

# The Python text of an operator: infix, prefix, or a function of polysched.ir.expr.functions.
_INFIX: Mapping[Operator, str] = MappingProxyType(
    {
        Operator.ADD: "+",
        Operator.SUBTRACT: "-",
        Operator.MULTIPLY: "*",
        Operator.DIVIDE: "/",
        Operator.FLOOR_DIVIDE: "//",
        Operator.MODULO: "%",
        Operator.LESS: "<",
        Operator.LESS_EQUAL: "<=",
        Operator.AND: "&",
        Operator.OR: "|",
        Operator.BIT_AND: "&",
        Operator.BIT_OR: "|",
        Operator.BIT_XOR: "^",
        Operator.SHIFT_LEFT: "<<",
        Operator.SHIFT_RIGHT: ">>",
    }
)
_PREFIX = MappingProxyType({Operator.NEGATE: "-", Operator.NOT: "~", Operator.BIT_NOT: "~"})
_FUNCTIONS: Mapping[Operator, str] = MappingProxyType(
    {
        Operator.EQUAL: "equal",
        Operator.NOT_EQUAL: "not_equal",
        Operator.MINIMUM: "minimum",
        Operator.MAXIMUM: "maximum",
        Operator.SELECT: "select",
        Operator.ABSOLUTE: "absolute",
        Operator.SQUARE_ROOT: "sqrt",
        Operator.FMA: "fma",
        Operator.EXPONENTIAL: "exp",
    }
)


def python_expression(expression: Expression) -> str:
    """Print an expression as Python code that builds it."""
    match expression:
        case Constant(value=value):
            return repr(value)
        case Load(array=array, subscripts=subscripts):
            return f"{array}[{', '.join(map(python_expression, subscripts)) or '()'}]"
        case Cast(operand=operand, type=dtype):
            return f"cast({python_expression(operand)}, {dtype.name!r})"
        case Operation(operator=operator, operands=operands) if operator in _INFIX:
            return f" {_INFIX[operator]} ".join(map(_operand, operands))
        case Operation(operator=operator, operands=(only,)) if operator in _PREFIX:
            return f"{_PREFIX[operator]}{_operand(only)}"
        case Operation(operator=operator, operands=operands):
            return f"{_FUNCTIONS[operator]}({', '.join(map(python_expression, operands))})"
        case _:
            return str(expression)


def _operand(expression: Expression) -> str:
    text = python_expression(expression)
    operators = _INFIX.keys() | _PREFIX.keys()
    if isinstance(expression, Operation) and expression.operator in operators:
        return f"({text})"
    return f"({text})" if text.startswith("-") else text


def kernel_lines(sketch: KernelSketch) -> Iterator[str]:
    """Print the declaration of a kernel, ending in ``kernel = ...``."""
    yield f"build = KernelBuilder({NAME!r})"
    for parameter in sketch.parameters:
        limits = f"minimum={parameter.minimum}, maximum={parameter.maximum}"
        yield f"{parameter.name} = build.parameter({parameter.name!r}, {limits})"
    for array in sketch.arrays:
        layout = "" if array.rows is None else f", rows={array.rows.value!r}"
        if array.strides is not None:
            layout = f", strides={_tuple(array.strides)}"
        arguments = f"{array.name!r}, {array.dtype.name!r}, {_tuple(array.shape)}{layout}"
        yield f"{array.name} = build.{array.role.value}({arguments})"
    for part in sketch.body:
        yield from _part_lines(part, "")
    kernel = (
        "build.kernel()" if sketch.fp_contract else "replace(build.kernel(), fp_contract=False)"
    )
    yield f"kernel = {kernel}"


def _tuple(expressions: Iterable[Expression]) -> str:
    text = "".join(f"{python_expression(expression)}, " for expression in expressions)
    return f"({text.rstrip()})"


def _part_lines(part: PartSketch, indent: str) -> Iterator[str]:
    inner = f"{indent}    "
    match part:
        case AssignSketch(name=name, target=target, value=value, order=order):
            policy = "" if order is None else f", order={order.value!r}"
            yield f"{indent}with build.statement({name!r}{policy}):"
            yield f"{inner}{python_expression(target)} = {python_expression(value)}"
        case LoopSketch(index=index, lower=lower, upper=upper, step=step, body=body):
            ends = f"{python_expression(lower)}, {python_expression(upper)}"
            stride = "" if step == 1 else f", {step}"
            yield f"{indent}with build.loops({index}=({ends}{stride})) as {index}:"
            yield from _body_lines(body, inner)
        case WhereSketch(condition=condition, body=body):
            yield f"{indent}with build.where({python_expression(condition)}):"
            yield from _body_lines(body, inner)


def _body_lines(body: Sequence[PartSketch], indent: str) -> Iterator[str]:
    if not body:
        yield f"{indent}pass"
    for child in body:
        yield from _part_lines(child, indent)


def script(sketch: KernelSketch, steps: Iterable[Step], *, comment: str = "") -> str:
    """Print a script that declares the kernel, applies the steps and prints the verdict."""
    listed = tuple(steps)
    text = "\n".join(kernel_lines(sketch))
    functions = sorted(name for name in (*_FUNCTIONS.values(), "cast") if f"{name}(" in text)
    modules = {(type(step).__module__, type(step).__name__) for step in listed}
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    if not sketch.fp_contract:
        lines.append("from dataclasses import replace")
    lines.append("from polysched.ir.declare.builder import KernelBuilder")
    if functions:
        lines.append(f"from polysched.ir.expr.functions import {', '.join(functions)}")
    lines.append("from polysched.legality.check import check")
    lines += [f"from {module} import {name}" for module, name in sorted(modules)]
    lines += ["from polysched.schedule.schedule import Schedule", "", text]
    lines.append("schedule = Schedule(kernel)")
    lines += [f"schedule = schedule.then({step!r})" for step in listed]
    lines += ["verdict = check(schedule)", "print(verdict.kind.value, verdict.reason)"]
    return "\n".join(lines) + "\n"
