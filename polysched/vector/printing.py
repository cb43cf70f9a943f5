"""Print vector programs as text.

::

    program scale
    parameters n with n >= 1
    input x: f32[n]
    output y: f32[n]

    for i in 0..(n//16):
      vector 16: contiguous(y[16*i]) = 2*contiguous(x[16*i])
    vector 16 lanes 0..(n - 16*(n//16)) if any: contiguous(y[16*(n//16)]) = ...

Addresses are linear: ``x[16*i]`` is the element at distance ``16*i`` from the first element. A line
without ``vector`` is a scalar statement. ``if any`` marks vectors without a lane that provably
runs.
"""

from __future__ import annotations

from polysched.ir.core.kernel import Role
from polysched.ir.core.printing import format_declarations, format_expression, format_header
from polysched.ir.expr.expressions import Cast, Constant, Expression, Index, Operation, Parameter
from polysched.ir.expr.linear_form import LinearForm
from polysched.vector.ir import (
    Assign,
    Branch,
    Call,
    Keep,
    Loop,
    Node,
    Prefetch,
    Sequence,
    Statement,
    Stream,
    Target,
    Tile,
    TileCall,
    TileCompute,
    TileLoad,
    Tiles,
    TileStore,
    Transpose,
    VectorProgram,
)
from polysched.vector.values import (
    Access,
    Active,
    Address,
    All,
    Apply,
    Convert,
    First,
    Gather,
    Lane,
    Lanes,
    Load,
    Lookup,
    Offsets,
    Only,
    Predicate,
    Range,
    Register,
    RuntimeStride,
    Shuffle,
    Sum,
    Uniform,
    Unit,
    Unpack,
    Value,
    Window,
)

_INDENT = "  "


def print_vectors(program: VectorProgram) -> str:
    """Print the declarations of a program, then its statements."""
    arguments = [array for array in program.arrays.values() if array.role is not Role.TEMPORARY]
    own = [program.arrays[name] for name in (*program.frame.stack, *program.frame.heap)]
    lines = [
        f"program {program.name}",
        *format_header(program.parameters, program.context),
        *format_declarations([*arguments, *own]),
        "",
        *_lines(program.body),
    ]
    return "\n".join(lines) + "\n"


def format_statement(node: Statement) -> str:
    """Format a statement as one line."""
    match node:
        case Assign(target=target, value=value, lanes=lanes):
            return f"{_lanes(lanes)}{_target(target, lanes)} = {format_value(value)}"
        case Call(target=target, instruction=instruction, operands=operands, lanes=lanes):
            given = [*([] if node.before is None else [node.before]), *(v for _, v in operands)]
            inner = ", ".join(map(format_value, given))
            return f"{_lanes(lanes)}{_target(target, lanes)} = {instruction.kernel.name}({inner})"
        case Transpose(rows=rows, columns=columns, strategy=strategy, interleaving=interleaving):
            how = "transpose" if interleaving is None else interleaving.value
            by = f" by {strategy.value}" if interleaving is None else ""
            return f"{columns} = {how}({rows}){by}"
        case Prefetch(address=address, level=level):
            return f"prefetch {_address(address)} to level {level}"
        case TileCall(instruction=instruction, tiles=tiles):
            written, *_ = texts = [_tile(tile) for _, tile in tiles]
            return f"{written} = {instruction.name}({', '.join(texts[not instruction.updates :])})"
        case TileLoad(register=register, tile=tile):
            return f"tmm{register} = {_tile(tile)}"
        case TileStore(register=register, tile=tile):
            return f"{_tile(tile)} = tmm{register}"
        case TileCompute(instruction=instruction, registers=registers):
            numbers = [f"tmm{register}" for _, register in registers]
            inner = ", ".join(numbers[not instruction.updates :])
            return f"{numbers[0]} = {instruction.name}({inner})"


def format_value(value: Value) -> str:
    """Format a value in Python's syntax, with the movement of each load as a function."""
    return format_expression(_expression(value))


def _lines(node: Node) -> list[str]:
    match node:
        case Sequence(nodes=nodes):
            return [line for child in nodes for line in _lines(child)]
        case Loop(lower=lower, upper=upper, body=body):
            kind = "for" if node.region is None else "parallel"
            end = "" if node.until is None else f" until {format_value(node.until)}"
            head = f"{kind} {node.variable} in {_range(lower, upper, node.step)}{end}:"
            return [head, *_indented(body)]
        case Branch(condition=condition, then=then, otherwise=otherwise):
            lines = [f"if {format_value(condition)}:", *_indented(then)]
            return lines if otherwise is None else [*lines, "else:", *_indented(otherwise)]
        case Tiles(shapes=shapes, body=body):
            used = [
                f"tmm{register} {shape[0]} x {shape[1]} bytes"
                for register, shape in enumerate(shapes)
                if shape is not None
            ]
            return [f"tiles {', '.join(used)}:", *_indented(body)]
    return [format_statement(node)]


def _tile(tile: Tile) -> str:
    by = f"{tile.distance}" if tile.dimension is None else f"{tile.distance} of {tile.dimension}"
    return f"tile({_address(tile.address)}, {tile.rows} x {tile.columns}, rows {by} apart)"


def _indented(body: Node) -> list[str]:
    return [_INDENT + line for line in _lines(body) or ["pass"]]


def _range(lower: Value, upper: Value, step: int) -> str:
    by = "" if step == 1 else f" step {step}"
    return f"{_bound(lower)}..{_bound(upper)}{by}"


def _bound(bound: Value) -> str:
    expression = _expression(bound)
    text = format_expression(expression)
    return text if isinstance(expression, Constant | Index | Parameter) else f"({text})"


def _lanes(lanes: Lanes | None) -> str:
    if lanes is None:
        return ""
    some = "" if lanes.some else " if any"
    return f"vector {lanes.count}{_active(lanes.active)}{some}: "


def _active(active: Active) -> str:
    match active:
        case All():
            return ""
        case Only(lanes=lanes):
            return f" lanes {_numbers(lanes)}"
        case Range(lower=lower, upper=upper, step=step):
            return f" lanes {_range(Sum(()) if lower is None else lower, upper, step)}"
        case Predicate(condition=condition, within=within):
            return f"{_active(within)} where {format_value(condition)}"


def _numbers(lanes: tuple[int, ...]) -> str:
    """Format literal lanes, as a range if they are consecutive."""
    if lanes and lanes == tuple(range(lanes[0], lanes[-1] + 1)):
        return f"{lanes[0]}..{lanes[-1] + 1}"
    return f"{{{', '.join(map(str, lanes))}}}"


def _target(target: Target, lanes: Lanes | None) -> str:
    match target:
        case Keep(register=register, masked=masked):
            is_partial = lanes is not None and not isinstance(lanes.active, All)
            mark = "unmasked " if is_partial and not masked else ""
            return f"{mark}{_register(register)}"
        case Stream(access=access):
            return f"stream {_access(access)}"
    return _access(target.access)


def _register(register: Register) -> str:
    return f"{register.array}.{register.number}" if register.number else register.array


def _access(access: Access) -> str:
    address = _address(access.address)
    match access.movement:
        case Uniform.BROADCAST:
            return address
        case Uniform() as movement:
            return f"{movement.value}({address})"
        case Window(distances=distances):
            return f"window({address}, {list(distances)})"
        case Offsets(stride=None, distances=distances):
            return f"offsets({address}, {list(distances)})"
        case Offsets(stride=stride):
            return f"strided({address}, {stride})"
        case RuntimeStride(steps=steps, literal=literal):
            name = access.address.array
            strides = tuple([(Index(f"{name}.stride{at}"), factor) for at, factor in steps])
            distance = LinearForm(strides, literal).expression()
            return f"strided({address}, {format_expression(distance)})"
        case Gather(subscripts=subscripts):
            indices = ", ".join(map(format_value, subscripts))
            how = "lookup" if isinstance(access.movement, Lookup) else "gather"
            return f"{how}({access.address.array}[{indices}])"


def _address(address: Address) -> str:
    """The linear subscript of an element; strides known only at run time are named by dimension."""
    terms = [(_expression(value), factor) for value, factor in address.terms]
    for dimension, index in address.scaled:
        stride = Index(f"{address.array}.stride{dimension}")
        inner = _expression(index)
        terms.append((inner * stride, 1))
    element = format_expression(LinearForm(tuple(terms), address.constant).expression())
    unit = "" if address.unit is Unit.ELEMENT else f"{address.unit.value} "
    phase = f" bit {address.phase}" if address.phase else ""
    return f"{address.array}[{unit}{element}{phase}]"


def _expression(value: Value) -> Expression:
    """A value as an expression of the loop IR, with all other nodes as names."""
    match value:
        case Constant() | Index() | Parameter():
            return value
        case Sum(terms=terms, constant=constant):
            atoms = tuple([(_expression(term), factor) for term, factor in terms])
            return LinearForm(atoms, constant).expression()
        case Apply(operator=operator, operands=operands, dtype=dtype):
            return Operation(operator, tuple(map(_expression, operands)), dtype)
        case Convert(operand=operand, dtype=dtype):
            return Cast(_expression(operand), dtype)
        case Lane():
            return Index("lane")
        case Load(access=access, where=where):
            condition = "" if where is None else f" where {format_value(where)}"
            return Index(f"{_access(access)}{condition}")
        case Unpack(access=access, dtype=dtype):
            return Index(f"unpack({_access(access)}, {dtype})")
        case Register():
            return Index(_register(value))
        case First(element=element):
            return Index(f"first({format_value(element)})")
        case Shuffle(first=first, second=second, lanes=lanes):
            left, right = format_value(first), format_value(second)
            return Index(f"shuffle({left}, {right}, {list(lanes)})")
