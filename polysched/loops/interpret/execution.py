"""Run the control flow of loops, iteration by iteration; the caller says what assignments do.

The lanes of a vector loop run together: an assignment reads in all lanes before it writes in any.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from polysched.errors import LoweringError
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Expression
from polysched.ir.semantics.scalar import Compiled, Read, compile_expression
from polysched.loops.analysis.lanes import MaskedAssign, masked_assigns
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    InstructionCall,
    LoopNode,
    TileCall,
    Transposition,
)

Variables: TypeAlias = dict[str, int]
Run: TypeAlias = Callable[[Variables], None]
Around: TypeAlias = tuple[For, ...]

IterationOrder: TypeAlias = Callable[[range], Iterable[int]]
"""The values of a parallel loop in the order in which they run."""


class Assignment(Protocol):
    """An assignment compiled to Python functions."""

    def evaluate(self, variables: Mapping[str, int]) -> Any:
        """Read all operands of the instance."""

    def write(self, variables: Mapping[str, int], evaluated: Any) -> None:
        """Compute and store the result from the operands."""


class Semantics(Protocol):
    """The meaning of assignments and lifetimes, for :func:`compile_loops`."""

    def read(self, array: str, position: tuple[int, ...]) -> Any:
        """Read an element of an array in a bound or a condition."""

    def assignment(self, node: Assign, around: Around) -> Assignment:
        """Compile an assignment; ``around`` are the loops around it, the outermost first."""

    def born(self, array: str, variables: Mapping[str, int]) -> None:
        """Begin the lifetime of a buffer."""

    def dies(self, array: str) -> None:
        """End the lifetime of a buffer."""


def ascending(values: range) -> Iterable[int]:
    """Run the iterations of a parallel loop in sequential order."""
    return values


def descending(values: range) -> Iterable[int]:
    """Run the iterations of a parallel loop from the last to the first."""
    return reversed(values)


def shuffled(seed: int) -> IterationOrder:
    """Run the iterations of a parallel loop in a random order, a new one each time."""
    generator = random.Random(seed)
    return lambda values: generator.sample(values, len(values))


def compile_loops(node: LoopNode, meaning: Semantics, order: IterationOrder = ascending) -> Run:
    """Compile a node to a function of the parameters that runs it.

    Args:
        order: of the iterations of parallel loops.

    Raises:
        LoweringError: a vector loop whose body has no vector meaning, or a loop that has no step.
    """
    return _Compiler(meaning, order).node(node, ())


@dataclass(frozen=True)
class _Compiler:
    """Compiles nodes to Python functions."""

    meaning: Semantics
    order: IterationOrder

    def expression(self, expression: Expression) -> Compiled:
        read: Read = self.meaning.read
        return compile_expression(expression, read)

    def node(self, node: LoopNode, around: Around) -> Run:
        match node:
            case For(kind=LoopKind.VECTOR):
                return self.vector_loop(node, around)
            case For():
                return self.loop(node, around)
            case If():
                return self.conditional(node, around)
            case Block(children=children):
                return in_order([self.node(child, around) for child in children])
            case Allocate():
                return self.buffer(node, around)
            case (
                InstructionCall(meaning=meaning)
                | TileCall(meaning=meaning)
                | Transposition(meaning=meaning)
            ):
                return self.node(meaning, around)
            case Assign():
                return self.assignment(node, around)

    def loop(self, node: For, around: Around) -> Run:
        lower, upper = self.expression(node.lower), self.expression(node.upper)
        variable, step = node.variable, _step(node)
        body = self.node(node.body, (*around, node))
        until = None if node.until is None else self.expression(node.until)
        order = self.order if node.kind is LoopKind.PARALLEL else ascending

        def run(variables: Variables) -> None:
            for value in order(range(lower(variables), upper(variables), step)):
                if until is not None and until(variables):
                    break
                variables[variable] = value
                body(variables)
            variables.pop(variable, None)

        return run

    def vector_loop(self, node: For, around: Around) -> Run:
        lower, upper = self.expression(node.lower), self.expression(node.upper)
        bodies = [self.masked(masked, (*around, node)) for masked in masked_assigns(node)]
        variable, step = node.variable, _step(node)

        def run(variables: Variables) -> None:
            lanes = [
                {**variables, variable: lane}
                for lane in range(lower(variables), upper(variables), step)
            ]
            for body in bodies:
                body(lanes)

        return run

    def masked(self, masked: MaskedAssign, around: Around) -> Callable[[list[Variables]], None]:
        assignment = self.meaning.assignment(masked.assign, around)
        mask = [self.expression(condition) for condition in masked.mask]

        def run(lanes: list[Variables]) -> None:
            active = [lane for lane in lanes if all(condition(lane) for condition in mask)]
            evaluated = [assignment.evaluate(lane) for lane in active]
            for lane, read in zip(active, evaluated, strict=True):
                assignment.write(lane, read)

        return run

    def conditional(self, node: If, around: Around) -> Run:
        condition, then = self.expression(node.condition), self.node(node.then, around)
        otherwise = self.node(node.otherwise or Block(()), around)
        return lambda variables: (then if condition(variables) else otherwise)(variables)

    def buffer(self, node: Allocate, around: Around) -> Run:
        body, array, meaning = self.node(node.body, around), node.array, self.meaning

        def run(variables: Variables) -> None:
            meaning.born(array, variables)
            body(variables)
            meaning.dies(array)

        return run

    def assignment(self, node: Assign, around: Around) -> Run:
        assignment = self.meaning.assignment(node, around)
        evaluate, write = assignment.evaluate, assignment.write
        return lambda variables: write(variables, evaluate(variables))


def _step(node: For) -> int:
    if node.step < 1:
        raise LoweringError(f"loop '{node.variable}' has step {node.step}; expected at least 1")
    return node.step


def in_order(runs: list[Run]) -> Run:
    """Run functions one after the other."""

    def run(variables: Variables) -> None:
        for each in runs:
            each(variables)

    return run
