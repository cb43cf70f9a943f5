"""A random program as the text that declares it with `polysched.KernelBuilder`."""

from __future__ import annotations

from tests.campaign.description import Array, E, Loop, Node, Program, Statement

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "fdiv": "//",
    "mod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "lt": "<",
    "le": "<=",
    "land": "&",
    "lor": "|",
}
_CALL = {
    "min": "ps.minimum",
    "max": "ps.maximum",
    "fma": "ps.fma",
    "abs": "abs",
    "eq": "ps.equal",
    "ne": "ps.not_equal",
    "sel": "ps.select",
    "fmin": "np.fmin",
    "fmax": "np.fmax",
    "floor": "np.floor",
    "ceil": "np.ceil",
    "trunc": "np.trunc",
    "rint": "np.rint",
}
_PREFIX = {"neg": "-", "inv": "~", "lnot": "~"}


def text(node: E, *, bare: bool = False) -> str:
    """An expression; ``bare`` literals take the type of what they stand beside."""
    match node.op:
        case "lit":
            value = node.args[0]
            return repr(value) if bare else f'ps.cast({value!r}, "{node.type}")'
        case "var":
            return str(node.args[0])
        case "load":
            return f"{node.args[0]}[{_tuple(node.children())}]"
        case "cast":
            return f'ps.cast({text(node.children()[0])}, "{node.type}")'
    operands = node.children()
    typed = any(one.op != "lit" for one in operands[-2:])
    shown = [text(one, bare=typed) for one in operands]
    if node.op in _INFIX:
        return f"({shown[0]} {_INFIX[node.op]} {shown[1]})"
    if node.op in _PREFIX:
        return f"({_PREFIX[node.op]}{shown[0]})"
    return f"{_CALL[node.op]}({', '.join(shown)})"


def affine(node: E) -> str:
    """A bound, an extent or a subscript."""
    if node.op == "lit":
        return repr(node.args[0])
    if node.op in ("var", "load"):
        return text(node)
    operands = [affine(one) for one in node.children()]
    if node.op in _INFIX:
        return f"({operands[0]} {_INFIX[node.op]} {operands[1]})"
    return f"{_CALL.get(node.op, _PREFIX.get(node.op))}({', '.join(operands)})"


def _tuple(subscripts: tuple[E, ...]) -> str:
    return ", ".join(map(affine, subscripts)) or "()"


def _shape(extents: tuple[E, ...]) -> str:
    return f"({''.join(f'{affine(one)}, ' for one in extents)})"


def _array(array: Array) -> str:
    more = ""
    if array.strides is not None:
        more += f", strides={_shape(array.strides)}"
    if array.rows is not None:
        more += f', rows="{array.rows}"'
    if array.values is not None:
        more += f", values=(0, {affine(array.values)})"
    return (
        f'{array.name} = build.{array.role}("{array.name}", "{array.type}", '
        f"{_shape(array.extents)}{more})"
    )


def _nodes(body: tuple[Node, ...], indent: str) -> list[str]:
    lines: list[str] = []
    for node in body:
        if isinstance(node, Statement):
            order = "" if node.order is None else f', order="{node.order}"'
            lines.append(f'{indent}with build.statement("{node.name}"{order}):')
            place = f"{node.array}[{_tuple(node.subscripts)}]"
            lines.append(f"{indent}    {place} = {text(node.value)}")
            continue
        if isinstance(node, Loop):
            step = "" if node.step == 1 else f", {node.step}"
            bounds = f"({affine(node.lower)}, {affine(node.upper)}{step})"
            lines.append(f"{indent}with build.loops({node.name}={bounds}) as {node.name}:")
        else:
            lines.append(f"{indent}with build.where({affine(node.condition)}):")
        lines += _nodes(node.body, indent + "    ")
    return lines


def declaration(program: Program) -> str:
    """The text; it defines ``kernel``."""
    lines = ["import numpy as np", "import polysched as ps", "", 'build = ps.KernelBuilder("k")']
    lines += [
        f'{one.name} = build.parameter("{one.name}", minimum={one.minimum})'
        for one in program.params
    ]
    lines += [_array(one) for one in program.arrays]
    return "\n".join([*lines, *_nodes(program.body, ""), "kernel = build.kernel()", ""])
