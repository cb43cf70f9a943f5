"""The source of every read of the declared program, found by running the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.ir.core.kernel import Kernel, Order, Reduction, Statement
from polysched.ir.semantics.memory import AnyArray, check_parameters
from polysched.ir.semantics.reference import instances
from polysched.loops.verify.source_memory import References, SourceMemory
from polysched.loops.verify.sources import Instance, SourceNumbers, Sources, Written


@dataclass(frozen=True, eq=False)
class DeclaredFlow:
    """The source of each read of a kernel, for given values of the parameters.

    Attributes:
        reads: for each statement instance the number of the source of each read, in order.
        results: the sources left in the arrays that the caller sees.
    """

    arrays: Mapping[str, AnyArray]
    sources: Sources
    reads: Mapping[tuple[str, Instance], tuple[int, ...]]
    results: Mapping[str, SourceNumbers]


def declared_flow(
    kernel: Kernel, parameters: Mapping[str, int], arrays: Mapping[str, AnyArray] | None = None
) -> DeclaredFlow:
    """Run the kernel as declared, computing sources instead of values.

    Args:
        arrays: the contents of the arrays that subscripts read.

    Raises:
        CallError: the parameters violate the context, or such an array is missing.
        KernelError: an access outside its array.
    """
    check_parameters(kernel.context, parameters)
    sources = Sources()
    memory = SourceMemory(sources, arrays or {})
    memory.open(kernel.arrays, parameters)
    compiled = {
        name: References.of(statement.target, statement.value, memory.index)
        for name, statement in kernel.statements.items()
    }
    reads: dict[tuple[str, Instance], tuple[int, ...]] = {}
    for name, instance in instances(kernel, parameters):
        statement = kernel.statements[name]
        variables = {**parameters, **dict(zip(statement.indices, instance, strict=True))}
        target, seen = compiled[name].evaluate(memory, variables)
        reads[name, instance] = seen
        written = declared_source(kernel, sources, statement, instance, seen)
        assert written is not None, "a declared instance runs once"
        memory.tags.write(statement.target.array, target, written)
    results = {
        name: memory.tags.arrays[name] for name, array in kernel.arrays.items() if array.is_written
    }
    return DeclaredFlow(arrays or {}, sources, reads, results)


def free_reduction(statement: Statement | None) -> Reduction | None:
    """The statement's reduction if its order is free; else None."""
    reduction = None if statement is None else statement.reduction
    return reduction if reduction is not None and reduction.order is Order.ANY else None


def declared_source(
    kernel: Kernel,
    sources: Sources,
    statement: Statement,
    instance: Instance,
    seen: tuple[int, ...],
) -> int | None:
    """The source written by an instance of a declared statement; None for a second contribution."""
    reduction = free_reduction(statement)
    if reduction is None:
        return sources.number(Written(statement.name, instance))
    return sources.accumulated(
        seen[reduction.read - 1],
        statement.name,
        frozenset([instance]),
        reduction.operator,
        kernel.arrays[statement.target.array].dtype,
    )
