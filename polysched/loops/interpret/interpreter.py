"""Reference interpreter: run a loop program one element at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from polysched.errors import KernelError
from polysched.ir.core.kernel import Array
from polysched.ir.semantics.memory import (
    AnyArray,
    Memory,
    argument_memory,
    check_parameters,
    concrete_shape,
    results,
    undefined,
)
from polysched.ir.semantics.scalar import Compiled, Scalar, compile_expression, compile_tuple
from polysched.loops.interpret.execution import Around, IterationOrder, ascending, compile_loops
from polysched.loops.ir.nodes import Allocate, Assign, LoopProgram, walk

Observer: TypeAlias = Callable[[str, tuple[int, ...]], None]
Interpreter: TypeAlias = Callable[[Mapping[str, AnyArray], Mapping[str, int]], dict[str, AnyArray]]
"""A function from arrays and parameters to the results of :func:`interpret`."""


def interpreter(
    program: LoopProgram, observer: Observer | None = None, *, order: IterationOrder = ascending
) -> Interpreter:
    """Compile a loop program to a function that runs it and leaves its arguments unchanged.

    The lanes of a vector loop run together: a statement reads in all lanes before it writes in any.
    Every entry of an ``Allocate`` makes a new buffer of undefined elements (NaN, large integers).

    The function takes every input and inout array. An output may be given: its elements remain
    where the program does not write. It raises a `CallError` if an array or parameter does not fit,
    and a `KernelError` for an access outside its array or outside the lifetime of a buffer.

    Args:
        observer: called with the statement and the instance after each instance has run.
        order: of the iterations of parallel loops, which run one after the other.

    Raises:
        LoweringError: a vector loop whose body has no vector meaning.
    """
    lasting, memory = lasting_arrays(program), Memory({})
    run = compile_loops(program.body, _Values(program, memory, observer), order)

    def interpreted(
        arrays: Mapping[str, AnyArray], parameters: Mapping[str, int]
    ) -> dict[str, AnyArray]:
        check_parameters(program.context, parameters)
        given = argument_memory(lasting, arrays, parameters)
        memory.arrays.clear()
        memory.arrays.update(given.arrays)
        with np.errstate(all="ignore"):
            run(dict(parameters))
        return results(lasting, Memory(memory.arrays, given.buffers))

    return interpreted


def lasting_arrays(program: LoopProgram) -> dict[str, Array]:
    """The arrays that live over the whole call: all except those of an ``Allocate``."""
    buffers = {node.array for node in walk(program.body) if isinstance(node, Allocate)}
    return {name: array for name, array in program.arrays.items() if name not in buffers}


@dataclass(frozen=True)
class _Values:
    """The meaning of loops that compute values."""

    program: LoopProgram
    memory: Memory
    observer: Observer | None

    def read(self, array: str, position: tuple[int, ...]) -> Scalar:
        return self.memory.read(array, position)

    def assignment(self, node: Assign, around: Around) -> _Store:
        read = self.memory.read
        return _Store(
            node,
            self.memory,
            self.observer,
            compile_tuple(node.target.subscripts, read),
            compile_expression(node.value, read),
            compile_tuple(node.instance, read),
        )

    def born(self, array: str, variables: Mapping[str, int]) -> None:
        born = self.program.arrays[array]
        shape = concrete_shape(born.stored_shape, variables)
        self.memory.arrays[array] = undefined(shape, born.dtype)

    def dies(self, array: str) -> None:
        del self.memory.arrays[array]


@dataclass(frozen=True)
class _Store:
    """An assignment whose parts are functions of the variables."""

    assign: Assign
    memory: Memory
    observer: Observer | None
    position: Callable[[Mapping[str, int]], tuple[int, ...]]
    value: Compiled
    instance: Callable[[Mapping[str, int]], tuple[int, ...]]

    def evaluate(self, variables: Mapping[str, int]) -> tuple[tuple[int, ...], Scalar]:
        """Read the operands: return the element to write and its value."""
        try:
            return self.position(variables), self.value(variables)
        except KernelError as error:
            raise self._located(error, variables) from error

    def write(
        self, variables: Mapping[str, int], evaluated: tuple[tuple[int, ...], Scalar]
    ) -> None:
        try:
            self.memory.write(self.assign.target.array, *evaluated)
        except KernelError as error:
            raise self._located(error, variables) from error
        if self.observer is not None:
            self.observer(self.assign.statement, self.instance(variables))

    def _located(self, error: KernelError, variables: Mapping[str, int]) -> KernelError:
        at = ", ".join(map(str, self.instance(variables)))
        return KernelError(f"statement '{self.assign.statement}' at ({at}): {error}")
