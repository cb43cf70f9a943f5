"""Interpreter of the vector IR: run a program lane by lane. It defines the IR's semantics.

The interpreter reads and writes elements at the linear addresses of the accesses, so it tests the
classification of accesses and masks as well as the passes. Inactive lanes are undefined where the
program declares them dead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

import numpy as np

from polysched.errors import KernelError
from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.expressions import Constant, Index, Parameter
from polysched.ir.expr.linear_form import Intervals
from polysched.ir.semantics.memory import (
    AnyArray,
    Memory,
    argument_memory,
    check_parameters,
    concrete_shape,
    results,
    undefined,
)
from polysched.ir.semantics.scalar import Scalar, as_scalar, converter, scalar_function, wrapper
from polysched.loops.interpret.execution import in_order
from polysched.loops.ir.nodes import Interleaving
from polysched.vector import ir
from polysched.vector import values as vector
from polysched.vector.interpret_tiles import TileUnit
from polysched.vector.memory import LinearArray
from polysched.vector.tiles import lane_function

Variables: TypeAlias = dict[str, int]
Run: TypeAlias = Callable[[Variables], None]
InLane: TypeAlias = Callable[[Variables, int], Scalar]
"""Compute a value in a lane; a scalar is the same in all lanes."""

Interpreter: TypeAlias = Callable[[Mapping[str, AnyArray], Mapping[str, int]], dict[str, AnyArray]]
"""Run a program on arrays and parameters, and return the arrays that it writes."""


def interpreter(program: ir.VectorProgram) -> Interpreter:
    """Compile a program to a function that runs it and leaves its arguments unchanged.

    The function raises a ``CallError`` if an array or parameter does not match its declaration. It
    raises a ``KernelError`` if an active lane accesses memory outside its array, or if a fact that
    the program states does not hold: a loop runs, a lane is active, an address is aligned, memory
    is private.
    """
    machine = _Machine(program)
    run = in_order([machine.frame(program.frame), machine.node(program.body)])

    def interpreted(
        arrays: Mapping[str, AnyArray], parameters: Mapping[str, int]
    ) -> dict[str, AnyArray]:
        check_parameters(program.context, parameters)
        arguments = {a.name: a for a in program.arrays.values() if a.role is not Role.TEMPORARY}
        given = argument_memory(arguments, arrays, parameters)
        machine.start(given, parameters)
        with np.errstate(all="ignore"):
            run(dict(parameters))
        return results(arguments, Memory(given.arrays, given.buffers))

    return interpreted


class _Machine:
    """Memory and registers, and the functions of a program's nodes on them."""

    def __init__(self, program: ir.VectorProgram) -> None:
        self.program = program
        self.memory: dict[str, LinearArray] = {}
        self.registers: dict[str, list[list[Scalar]]] = {}
        self.parameters: Mapping[str, int] = {}
        self.count = 1
        """The lanes of the statement that is being compiled."""
        self.known: Intervals = {}
        self.tiles = TileUnit(self)

    def start(self, given: Memory, parameters: Mapping[str, int]) -> None:
        """Start a call: bind arrays and parameters."""
        self.parameters = parameters
        self.known = {name: (value, value) for name, value in parameters.items()}
        self.memory = {name: self._linear(name, values) for name, values in given.arrays.items()}

    def _linear(self, name: str, values: AnyArray) -> LinearArray:
        return LinearArray.of(self.program.arrays[name], values, self.known)

    # -- control flow ----------------------------------------------------------------------------

    def frame(self, frame: ir.Frame) -> Run:
        """Enter a function with undefined local arrays and registers."""
        arrays = self.program.arrays

        def run(variables: Variables) -> None:
            for name in (*frame.stack, *frame.heap):
                shape = concrete_shape(arrays[name].stored_shape, self.parameters)
                self.memory[name] = self._linear(name, undefined(shape, arrays[name].dtype))
            for name in frame.registers:
                vectors, lanes = (1, 1, *concrete_shape(arrays[name].shape, {}))[-2:]
                unknown = _undefined(arrays[name])
                self.registers[name] = [[unknown] * lanes for _ in range(vectors)]

        return run

    def node(self, node: ir.Node) -> Run:
        """Compile a node to a function that runs it."""
        match node:
            case ir.Sequence(nodes=nodes):
                return in_order([self.node(child) for child in nodes])
            case ir.Loop():
                return self._loop(node)
            case ir.Branch(condition=condition, then=then, otherwise=otherwise):
                holds, first = self.value(condition), self.node(then)
                second = self.node(otherwise or ir.Sequence(()))
                return lambda variables: (first if holds(variables, 0) else second)(variables)
            case ir.Transpose():
                return lambda variables: self._transpose(node)
            case ir.Prefetch():
                return lambda variables: None
            case ir.Assign() | ir.Call():
                return self._statement(node)
            case _:
                return self.tiles.node(node)

    def _loop(self, node: ir.Loop) -> Run:
        lower, upper = self.value(node.lower), self.value(node.upper)
        variable, body = node.variable, self.node(node.body)
        until = None if node.until is None else self.value(node.until)
        if node.region is not None:
            body = in_order([self.frame(node.region), body])

        def run(variables: Variables) -> None:
            values = range(lower(variables, 0), upper(variables, 0), node.step)
            if node.runs and not values:
                raise KernelError(f"loop '{node.name}' has no iteration at {variables}")
            for value in values:
                if until is not None and until(variables, 0):
                    break
                variables[variable] = value
                body(variables)
            variables.pop(variable, None)

        return run

    # -- statements ------------------------------------------------------------------------------

    def _statement(self, node: ir.Assign | ir.Call) -> Run:
        lanes = node.lanes
        self.count = 1 if lanes is None else lanes.count
        active = self._active(lanes)
        write = self._target(node.target)
        value = self.value(node.value) if isinstance(node, ir.Assign) else self._call(node)

        def run(variables: Variables) -> None:
            running = active(variables)
            if not running and (lanes is None or lanes.some):
                raise KernelError(f"statement '{node.statement}': no lane runs at {variables}")
            if running:
                write(variables, running, [value(variables, lane) for lane in running])

        return run

    def _active(self, lanes: vector.Lanes | None) -> Callable[[Variables], Sequence[int]]:
        """The active lanes as a function of the variables."""
        if lanes is None:
            return lambda variables: (0,)
        return self._lanes(lanes.active, lanes.count)

    def _lanes(self, active: vector.Active, count: int) -> Callable[[Variables], Sequence[int]]:
        match active:
            case vector.All():
                return lambda variables: range(count)
            case vector.Only(lanes=literal):
                return lambda variables: literal
            case vector.Range(step=step):
                lower = self.value(active.lower or vector.Sum(()))
                upper = self.value(active.upper)
                return lambda variables: [
                    lane
                    for lane in range(lower(variables, 0), upper(variables, 0), step)
                    if 0 <= lane < count
                ]
            case vector.Predicate():
                holds, within = self.value(active.condition), self._lanes(active.within, count)
                return lambda variables: [
                    lane for lane in within(variables) if holds(variables, lane)
                ]

    def _target(
        self, target: ir.Target
    ) -> Callable[[Variables, Sequence[int], list[Scalar]], None]:
        if isinstance(target, ir.Keep):
            return self._keep(target)
        name = target.access.address.array
        distance_of = self._place(target.access)

        def write(variables: Variables, lanes: Sequence[int], values: list[Scalar]) -> None:
            distances = [distance_of(variables, lane) for lane in lanes]
            for distance, value in zip(distances, values, strict=True):
                self.memory[name].write(distance, value)

        return write

    def _keep(self, target: ir.Keep) -> Callable[[Variables, Sequence[int], list[Scalar]], None]:
        register = target.register
        unknown = _undefined(self.program.arrays[register.array])

        def write(variables: Variables, lanes: Sequence[int], values: list[Scalar]) -> None:
            content = self.registers[register.array][register.number]
            if not target.masked:
                content[:] = [unknown] * len(content)
            for lane, value in zip(lanes, values, strict=True):
                content[lane] = value

        return write

    def _call(self, node: ir.Call) -> InLane:
        """Evaluate the instruction's statement for all terms of a lane."""
        form = node.instruction
        terms, compute = form.term_dimensions, lane_function(form)
        before = None if node.before is None else self.value(node.before)
        operands = [self._operand(node, name, operand) for name, operand in node.operands]
        into = node.target
        written = into.register if isinstance(into, ir.Keep) else into.access.address
        dtype = self.program.arrays[written.array].dtype
        stored = wrapper(dtype) if dtype.is_integer else lambda value: value
        runs = product(*(range(form.extents[name]) for name in terms))
        every = [dict(zip(terms, numbers, strict=True)) for numbers in runs]

        def value(variables: Variables, lane: int) -> Scalar:
            values = [{name: get(variables, lane, at) for name, get in operands} for at in every]
            return stored(compute(before(variables, lane) if before else 0, every, values))

        return value

    def _operand(
        self, node: ir.Call, name: str, operand: vector.Load | Constant
    ) -> tuple[str, Callable[[Variables, int, Mapping[str, int]], Scalar]]:
        """The element of an operand for a lane and the indices of a term."""
        if isinstance(operand, Constant):
            literal = self.value(operand)
            return name, lambda variables, lane, at: literal(variables, lane)
        form, array = node.instruction, operand.access.address.array
        (load,) = (load for load in form.loads if load.array == name)
        strides, width = form.strides(load), form.lane_width(name)
        step = 0 if operand.access.movement is vector.Uniform.BROADCAST else width
        start = self.distance(operand.access, node.lanes.count * width)

        def element(variables: Variables, lane: int, at: Mapping[str, int]) -> Scalar:
            term = sum([(strides[index] or 0) * number for index, number in at.items()])
            return self.memory[array].read(start(variables) + step * lane + term)

        return name, element

    def _transpose(self, node: ir.Transpose) -> None:
        rows = np.array(self.registers[node.rows], dtype=object)
        columns = self.registers[node.columns]
        match node.interleaving:
            case None:
                result = rows.T
            case Interleaving.SPLIT:
                result = rows.reshape(-1, len(rows)).T
            case Interleaving.JOIN:
                result = rows.T.reshape(rows.shape)
        columns[:] = [list(vector_) for vector_ in result]

    # -- values ----------------------------------------------------------------------------------

    def value(self, value: vector.Value) -> InLane:
        """Compile a value to a function of variables and lane."""
        match value:
            case Constant():
                constant = as_scalar(value.value, vector.dtype_of(value))
                return lambda variables, lane: constant
            case Index(name=name) | Parameter(name=name):
                return lambda variables, lane: variables[name]
            case vector.Lane():
                return lambda variables, lane: lane
            case vector.Sum(terms=terms, constant=constant):
                parts = [(self.value(term), factor) for term, factor in terms]
                return lambda variables, lane: (
                    constant + sum([part(variables, lane) * factor for part, factor in parts])
                )
            case vector.Register(array=array, number=number, is_vector=is_vector):
                return lambda variables, lane: self.registers[array][number][lane * is_vector]
            case vector.Load(where=where) if where is not None:
                runs, load = self.value(where), self.value(replace(value, where=None))
                unknown = _undefined(self.program.arrays[value.access.address.array])
                return lambda variables, lane: (
                    load(variables, lane) if runs(variables, lane) else unknown
                )
            case vector.Load(access=access) | vector.Unpack(access=access):
                name, distance_of = access.address.array, self._place(access)
                return lambda variables, lane: self.memory[name].read(distance_of(variables, lane))
        return self._computed(value)

    def _computed(
        self, value: vector.Apply | vector.Convert | vector.First | vector.Shuffle
    ) -> InLane:
        match value:
            case vector.Apply(operator=operator, operands=operands):
                apply = scalar_function(operator, vector.dtype_of(operands[-1]))
                inner = [self.value(operand) for operand in operands]
                return lambda variables, lane: apply(*[get(variables, lane) for get in inner])
            case vector.Convert(operand=operand, dtype=dtype):
                convert, only = converter(vector.dtype_of(operand), dtype), self.value(operand)
                return lambda variables, lane: convert(only(variables, lane))
            case vector.First(element=element):
                return self.value(element)
            case vector.Shuffle(first=first, second=second, lanes=lanes):
                left, right, count = self.value(first), self.value(second), len(lanes)

                def shuffled(variables: Variables, lane: int) -> Scalar:
                    number = lanes[lane]
                    if number < count:
                        return left(variables, number)
                    if isinstance(second, vector.First) and number != count:
                        raise KernelError("a shuffle reads an undefined lane")
                    return right(variables, number - count)

                return shuffled

    # -- accesses --------------------------------------------------------------------------------

    def _place(self, access: vector.Access) -> InLane:
        """The distance of a lane's element from the first element of its array."""
        name, movement = access.address.array, access.movement
        if isinstance(movement, vector.Gather):
            subscripts = [self.value(subscript) for subscript in movement.subscripts]
            return lambda variables, lane: sum(
                [
                    subscript(variables, lane) * stride
                    for subscript, stride in zip(subscripts, self.memory[name].strides, strict=True)
                ]
            )
        count, start = self.count, self.distance(access, self.count)
        array = self.program.arrays[name]
        step = array.dtype.bits if array.is_packed else 1
        match movement:
            case vector.Uniform.BROADCAST:
                return lambda variables, lane: start(variables)
            case vector.Uniform.CONTIGUOUS:
                return lambda variables, lane: start(variables) + step * lane
            case vector.Uniform.REVERSED:
                return lambda variables, lane: start(variables) + count - 1 - lane
            case vector.Offsets(distances=distances):
                return lambda variables, lane: start(variables) + distances[lane]
            case vector.RuntimeStride(steps=steps, literal=literal):
                return lambda variables, lane: (
                    start(variables)
                    + lane
                    * (
                        literal
                        + sum(self.memory[name].strides[at] * factor for at, factor in steps)
                    )
                )

    def distance(self, access: vector.Access, count: int) -> Callable[[Variables], int]:
        """The distance of the address from the first element, in elements, or in bits if packed.

        Args:
            count: the number of elements that all lanes access.
        """
        address = access.address
        base = self.value(vector.Sum(address.terms, address.constant))
        scaled = [(dimension, self.value(index)) for dimension, index in address.scaled]
        in_bytes = address.unit is vector.Unit.BYTE
        size = self.program.arrays[address.array].dtype.bytes

        def distance(variables: Variables) -> int:
            memory = self.memory[address.array]
            result = int(base(variables, 0)) * (8 if in_bytes else 1) + address.phase
            result += sum([index(variables, 0) * memory.strides[at] for at, index in scaled])
            if address.unit is vector.Unit.ELEMENT and result * size % access.alignment:
                raise KernelError(f"{address} is not aligned to {access.alignment} bytes")
            if (access.is_private or access.is_whole) and not 0 <= result <= len(
                memory.elements
            ) - count:
                raise KernelError(f"{address} and its lanes are not inside the array")
            return int(result)

        return distance


def _undefined(array: Array) -> Scalar:
    element = undefined((1,), array.dtype)[0]
    return element if array.dtype.is_float else element.item()
