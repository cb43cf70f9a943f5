"""Reference interpreter: run a kernel instance by instance in its declared order.

Every schedule must compute the same result. The interpreter does not use dependences, schedules or
loop generation: it enumerates the instances from the domains, sorts them in program order, and
evaluates them one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import islpy as isl
import numpy as np

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, statements
from polysched.ir.semantics.memory import (
    AnyArray,
    Memory,
    argument_memory,
    check_parameters,
    results,
)
from polysched.ir.semantics.points import columns_at, points, ranks, stacked
from polysched.ir.semantics.scalar import compile_expression, compile_tuple

Instance: TypeAlias = tuple[int, ...]
Run: TypeAlias = Callable[[dict[str, int]], None]


def run_reference(
    kernel: Kernel, arrays: Mapping[str, AnyArray], parameters: Mapping[str, int]
) -> dict[str, AnyArray]:
    """Run ``kernel`` as declared.

    Args:
        arrays: every input and inout array, which are not modified. An output may be given to set
            its elements that the kernel does not write.

    Returns:
        The output and inout arrays by name. Elements of temporaries and of outputs not given are
        undefined before they are written: NaN, or a recognizable large integer.

    Raises:
        KernelError: an access is out of bounds; the message names statement, instance and element.
    """
    check_parameters(kernel.context, parameters)
    memory = argument_memory(kernel.arrays, arrays, parameters)
    runs = {name: _compiled(statement, memory) for name, statement in kernel.statements.items()}
    with np.errstate(all="ignore"):
        for name, instance in instances(kernel, parameters):
            statement = kernel.statements[name]
            variables = {**parameters, **dict(zip(statement.indices, instance, strict=True))}
            try:
                runs[name](variables)
            except KernelError as error:
                where = ", ".join(f"{index} = {variables[index]}" for index in statement.indices)
                raise KernelError(f"statement '{name}' at ({where}): {error}") from error
    return results(kernel.arrays, memory)


def _compiled(statement: Statement, memory: Memory) -> Run:
    value = compile_expression(statement.value, memory.read)
    position = compile_tuple(statement.target.subscripts, memory.read)
    array = statement.target.array

    def run(variables: dict[str, int]) -> None:
        memory.write(array, position(variables), value(variables))

    return run


def instances(kernel: Kernel, parameters: Mapping[str, int]) -> Iterator[tuple[str, Instance]]:
    """Enumerate all statement instances, ``(statement, index values)``, in program order."""
    names = tuple(kernel.statements)
    rows = {name: points(kernel.statements[name].domain, parameters) for name in names}
    times = [columns_at(program_order(kernel.body, name), rows[name], parameters) for name in names]
    owners = np.repeat(np.arange(len(names)), [len(rows[name]) for name in names])
    numbers = np.concatenate([np.arange(len(rows[name])) for name in names])
    listed = [list(map(tuple, rows[name].tolist())) for name in names]
    order = np.argsort(ranks(stacked(times)), kind="stable")
    for owner, number in zip(owners[order].tolist(), numbers[order].tolist(), strict=True):
        yield names[owner], listed[owner][number]


def program_order(node: Node, statement: str) -> list[int | isl.PwAff]:
    """The timestamp of a statement's instances in a loop tree, outermost column first.

    A column is a position in a sequence or the value of a loop. Timestamps of two statements
    compare like tuples. Neither is a prefix of the other, because their positions in a common
    sequence differ first.
    """
    match node:
        case Leaf():
            return []
        case Loop(values=functions, body=body):
            return [functions[statement], *program_order(body, statement)]
        case Sequence(children=children):
            position, child = next(
                (position, child)
                for position, child in enumerate(children)
                if statement in statements(child)
            )
            return [position, *program_order(child, statement)]
