"""Running a loop program as it is written, one element at a time: the meaning of the loop IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from polysched.errors import KernelError, LoweringError
from polysched.ir.expressions import Expression
from polysched.ir.memory import (
    AnyArray,
    Memory,
    argument_memory,
    check_parameters,
    concrete_shape,
    results,
    undefined,
)
from polysched.ir.scalar import Compiled, Scalar, compile_expression, compile_tuple
from polysched.ir.tree import LoopKind
from polysched.loops.lanes import MaskedAssign, masked_assigns
from polysched.loops.nodes import Allocate, Assign, Block, For, If, LoopNode, LoopProgram, walk

Observer: TypeAlias = Callable[[str, tuple[int, ...]], None]
Variables: TypeAlias = dict[str, int]
Run: TypeAlias = Callable[[Variables], None]


def interpret(
    program: LoopProgram,
    arrays: Mapping[str, AnyArray],
    parameters: Mapping[str, int],
    observer: Observer | None = None,
) -> dict[str, AnyArray]:
    """Run ``program``.

    The lanes of a vector loop run together: a statement reads in all lanes before it writes in any.
    Every entry of an ``Allocate`` makes a new buffer of undefined elements.

    Args:
        arrays: every input and inout array; an output may be given to set what it holds where the
            program does not write. They are not changed.
        parameters: a value for every parameter.
        observer: called with the statement and the instance after each instance has run.

    Returns:
        The output and inout arrays by name. Undefined elements are NaN, or a large integer.

    Raises:
        CallError: an array or parameter does not fit.
        KernelError: an access outside its array or outside the lifetime of a buffer.
        LoweringError: a vector loop whose body has no vector meaning.
    """
    check_parameters(program.context, parameters)
    buffers = {node.array for node in walk(program.body) if isinstance(node, Allocate)}
    lasting = {name: array for name, array in program.arrays.items() if name not in buffers}
    memory = argument_memory(lasting, arrays, parameters)
    run = _Compiler(program, memory, observer).node(program.body)
    with np.errstate(all="ignore"):
        run(dict(parameters))
    return results(lasting, memory)


@dataclass(frozen=True)
class _Store:
    """An assignment whose parts are functions of the variables."""

    assign: Assign
    memory: Memory
    observer: Observer | None
    position: Callable[[Mapping[str, int]], tuple[int, ...]]
    value: Compiled
    instance: Callable[[Mapping[str, int]], tuple[int, ...]]

    def evaluate(self, variables: Variables) -> tuple[tuple[int, ...], Scalar]:
        """The element to write and its value: all that the instance reads."""
        try:
            return self.position(variables), self.value(variables)
        except KernelError as error:
            raise self._located(error, variables) from error

    def write(self, variables: Variables, position: tuple[int, ...], value: Scalar) -> None:
        try:
            self.memory.write(self.assign.target.array, position, value)
        except KernelError as error:
            raise self._located(error, variables) from error
        if self.observer is not None:
            self.observer(self.assign.statement, self.instance(variables))

    def _located(self, error: KernelError, variables: Variables) -> KernelError:
        at = ", ".join(map(str, self.instance(variables)))
        return KernelError(f"statement '{self.assign.statement}' at ({at}): {error}")


@dataclass(frozen=True)
class _Compiler:
    """Turns nodes into Python functions that run them on ``memory``."""

    program: LoopProgram
    memory: Memory
    observer: Observer | None

    def expression(self, expression: Expression) -> Compiled:
        return compile_expression(expression, self.memory.read)

    def node(self, node: LoopNode) -> Run:
        match node:
            case For(kind=LoopKind.VECTOR):
                return self.vector_loop(node)
            case For():
                return self.loop(node)
            case If():
                return self.conditional(node)
            case Block(children=children):
                return _in_order([self.node(child) for child in children])
            case Allocate():
                return self.buffer(node)
            case Assign():
                return self.assignment(node)

    def loop(self, node: For) -> Run:
        lower, upper = self.expression(node.lower), self.expression(node.upper)
        body, variable, step = self.node(node.body), node.variable, _step(node)

        def run(variables: Variables) -> None:
            for value in range(lower(variables), upper(variables), step):
                variables[variable] = value
                body(variables)
            variables.pop(variable, None)

        return run

    def vector_loop(self, node: For) -> Run:
        lower, upper = self.expression(node.lower), self.expression(node.upper)
        bodies = [self.masked(masked) for masked in masked_assigns(node)]
        variable, step = node.variable, _step(node)

        def run(variables: Variables) -> None:
            lanes = [
                {**variables, variable: lane}
                for lane in range(lower(variables), upper(variables), step)
            ]
            for body in bodies:
                body(lanes)

        return run

    def masked(self, masked: MaskedAssign) -> Callable[[list[Variables]], None]:
        store = self.store(masked.assign)
        mask = [self.expression(condition) for condition in masked.mask]

        def run(lanes: list[Variables]) -> None:
            active = [lane for lane in lanes if all(condition(lane) for condition in mask)]
            evaluated = [store.evaluate(lane) for lane in active]
            for lane, (position, value) in zip(active, evaluated, strict=True):
                store.write(lane, position, value)

        return run

    def conditional(self, node: If) -> Run:
        condition, then = self.expression(node.condition), self.node(node.then)
        otherwise = self.node(node.otherwise or Block(()))
        return lambda variables: (then if condition(variables) else otherwise)(variables)

    def buffer(self, node: Allocate) -> Run:
        array, body, buffers = (
            self.program.arrays[node.array],
            self.node(node.body),
            self.memory.arrays,
        )

        def run(variables: Variables) -> None:
            shape = concrete_shape(array.stored_shape, variables)
            buffers[array.name] = undefined(shape, array.dtype)
            body(variables)
            del buffers[array.name]

        return run

    def assignment(self, node: Assign) -> Run:
        store = self.store(node)
        return lambda variables: store.write(variables, *store.evaluate(variables))

    def store(self, node: Assign) -> _Store:
        read = self.memory.read
        return _Store(
            node,
            self.memory,
            self.observer,
            compile_tuple(node.target.subscripts, read),
            compile_expression(node.value, read),
            compile_tuple(node.instance, read),
        )


def _step(node: For) -> int:
    if node.step < 1:
        raise LoweringError(f"loop '{node.variable}' has step {node.step}; expected at least 1")
    return node.step


def _in_order(runs: list[Run]) -> Run:
    def run(variables: Variables) -> None:
        for each in runs:
            each(variables)

    return run
