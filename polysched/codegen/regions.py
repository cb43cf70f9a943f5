"""Parallel loops: the body of each becomes a function that threads call with some iterations.

A region makes two functions of its own::

    NAME.region0(ptr array..., ptr private, i64 parameter..., i64 variable..., i64 lower, i64 upper)
    NAME.region0.work(ptr task)

The first runs iterations, the second is what every thread of a team runs: it takes one chunk after
the other, as long as there are any. Chunks are of nearly equal length, and more than the threads
asked for if there are enough iterations: any number of threads does the whole work, and a thread
that the system holds up leaves its share to the others. A thread has memory of its own
(``private``) for the buffers that are born inside the loop. Loops that are parallel inside a
parallel loop run on the thread that they are on.

The team comes from outside, so that no runtime is compiled in. ``team`` is a function::

    void parallel(void (*work)(void *), void *task, uint32_t threads, uint32_t flags)

It lets so many threads, or fewer, call ``work(task)`` at once and waits for all of them: the
``GOMP_parallel`` of the OpenMP runtimes (GCC's libgomp manual, "Implementing PARALLEL construct";
libomp and libiomp5 have it too).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polysched.codegen.emit import Emitter
from polysched.codegen.evaluation import Evaluator
from polysched.codegen.functions import new_function
from polysched.codegen.memory import BYTE, Storage
from polysched.codegen.placement import Placement
from polysched.codegen.streaming import emit_fence
from polysched.codegen.values import INDEX
from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.linear import Intervals
from polysched.loops.analysis.parallel import parallel_loops, private_arrays, without_parallel_loops
from polysched.loops.analysis.usage import accessed_arrays
from polysched.loops.ir.nodes import For, LoopProgram

_INT32 = ir.IntType(32)
_POINTER = ir.PointerType()
_VOID = ir.VoidType()
_WORK = ir.FunctionType(_VOID, [_POINTER])
PARALLEL = ir.FunctionType(_VOID, [_POINTER, _POINTER, _INT32, _INT32])
_SLOT = 8  # bytes of a pointer or an i64

CHUNKS_A_THREAD = 8
"""More are fairer where threads are held up, fewer have longer runs of neighboring iterations."""

TEAM = "GOMP_parallel"
"""The function of a team, by the name that OpenMP runtimes have for it."""


@dataclass(frozen=True, eq=False)
class Team:
    """What a kernel's function knows of its threads.

    Attributes:
        parallel: the team's function.
        threads: how many threads may run, at least 1 (i64).
        private: pointer to the private memory of the first thread.
        private_bytes: from the memory of one thread to that of the next (i64).
    """

    parallel: Any
    threads: Any
    private: Any
    private_bytes: Any


@dataclass(frozen=True, eq=False)
class _Callee:
    """A function that a pointer points to: llvmlite wants its type, and the pointer has none."""

    pointer: Any
    function_type: ir.FunctionType

    def get_reference(self) -> str:
        """The pointer's name in LLVM's text."""
        return str(self.pointer.get_reference())


class Regions:
    """Emits the parallel loops of one kernel."""

    def __init__(
        self,
        program: LoopProgram,
        registers: tuple[str, ...],
        team: Team,
        module: ir.Module,
        known: Intervals,
    ) -> None:
        self.program = program
        self.registers = registers
        self.team = team
        self.module = module
        self.known = known
        self.count = 0

    def run(self, emitter: Emitter, node: For, lower: Any, upper: Any) -> None:
        """Emit a parallel loop, which runs at least once, where the emitter stands."""
        builder, team = emitter.builder, self.team
        outside = self._outside(emitter, node)
        captured = [
            *(storage.base for storage in outside),
            team.private,
            *emitter.values.parameters.values(),
            *emitter.values.variables.values(),
        ]
        name = f"{self.program.name}.region{self.count}"
        self.count += 1
        body = self._body(name, emitter, node, outside, [value.type for value in captured])
        distance = builder.add(builder.sub(upper, lower), INDEX(node.step - 1))
        iterations = builder.sdiv(distance, INDEX(node.step))
        place = Placement(builder, {}, {})
        threads = place.smaller(team.threads, iterations)
        chunks = place.smaller(builder.mul(threads, INDEX(CHUNKS_A_THREAD)), iterations)
        alone = builder.icmp_signed("<=", threads, INDEX(1))
        with builder.if_else(alone) as (one, several):
            with one:
                builder.call(body, [*captured, lower, upper])
            with several:
                shared = [chunks, lower, iterations, team.private_bytes, *captured]
                task = self._task(builder, [INDEX(0), INDEX(0), *shared])
                work = self._work(name, body, node, [value.type for value in shared])
                fork = _Callee(team.parallel, PARALLEL)
                builder.call(fork, [work, task, builder.trunc(threads, _INT32), _INT32(0)])

    def _outside(self, emitter: Emitter, node: For) -> list[Storage]:
        """The arrays that the iterations share."""
        private = {array.name for array in private_arrays(self.program, node)}
        accessed = accessed_arrays(node.body)
        return [
            storage
            for name, storage in emitter.values.storages.items()
            if name in accessed and name not in private
        ]

    def _task(self, builder: ir.IRBuilder, values: Sequence[Any]) -> Any:
        """What the threads are told, in the frame of the kernel's function."""
        with builder.goto_entry_block():
            task = builder.alloca(INDEX, size=len(values))
            task.type = _POINTER
        for position, value in enumerate(values):
            builder.store(value, _slot(builder, task, position))
        return task

    def _body(
        self, name: str, emitter: Emitter, node: For, outside: list[Storage], types: list[Any]
    ) -> ir.Function:
        """The function that runs iterations from a lower to an upper end."""
        signature = ir.FunctionType(_VOID, [*types, INDEX, INDEX])
        function, builder = new_function(self.module, name, signature, internal=True)
        *captured, lower, upper = function.args
        pointers, rest = captured[: len(outside)], captured[len(outside) + 1 :]
        private = captured[len(outside)]
        parameters = dict(zip(emitter.values.parameters, rest, strict=False))
        variables = dict(zip(emitter.values.variables, rest[len(parameters) :], strict=True))
        place = Placement(builder, parameters, self.known)
        storages = {}
        for storage, pointer in zip(outside, pointers, strict=True):
            pointer.add_attribute("noalias")
            storages[storage.array.name] = place.argument(storage.array, pointer, storage.alignment)
        own = [one for one in private_arrays(self.program, node) if one.name not in self.registers]
        sized = [place.sized(array) for array in own]
        storages |= {one.array.name: place.on_stack(one) for one in sized if one.is_small}
        storages |= place.carved(sized, private)
        accessed = accessed_arrays(node.body)
        slots = {
            register: (self.program.arrays[register], place.register(self.program.arrays[register]))
            for register in self.registers
            if register in accessed
        }
        outer = emitter.values
        values = Evaluator(
            builder,
            parameters,
            storages,
            slots,
            outer.known,
            variables=variables,
            features=outer.features,
            fp_contract=outer.fp_contract,
        )
        Emitter(values, unmasked=emitter.unmasked).counted(node, lower, upper)
        if any(storage.array.streamed for storage in storages.values()):
            emit_fence(builder)
        builder.ret_void()
        values.slots.drop_needless()
        return function

    def _work(self, name: str, body: ir.Function, node: For, types: list[Any]) -> ir.Function:
        """The function that every thread runs: it takes the next chunk until there is none.

        The task begins with the number of the next chunk and that of the next thread.
        """
        function, builder = new_function(self.module, f"{name}.work", _WORK, internal=True)
        (task,) = function.args
        chunks, lower, iterations, private_bytes, *captured = (
            _load(builder, task, position + 2, type_) for position, type_ in enumerate(types)
        )
        thread = builder.atomic_rmw("add", _slot(builder, task, 1), INDEX(1), "monotonic")
        place = Placement(builder, {}, {})
        length, longer = builder.sdiv(iterations, chunks), builder.srem(iterations, chunks)
        private_at = sum(value.type == _POINTER for value in captured) - 1
        head = builder.append_basic_block("chunk")
        run = builder.append_basic_block("run")
        end = builder.append_basic_block("end")
        builder.branch(head)
        builder.position_at_end(head)
        # What the chunks compute is ordered by the team's beginning and end, not by this number.
        chunk = builder.atomic_rmw("add", task, INDEX(1), "monotonic", name="chunk")
        builder.cbranch(builder.icmp_signed("<", chunk, chunks), run, end)
        builder.position_at_end(run)
        is_longer = builder.zext(builder.icmp_signed("<", chunk, longer), INDEX)
        first = builder.add(builder.mul(chunk, length), place.smaller(chunk, longer))
        last = builder.add(first, builder.add(length, is_longer))
        step = INDEX(node.step)
        own = builder.gep(
            captured[private_at], [builder.mul(thread, private_bytes)], source_etype=BYTE
        )
        arguments = [*captured[:private_at], own, *captured[private_at + 1 :]]
        ends = [builder.add(lower, builder.mul(at, step)) for at in (first, last)]
        builder.call(body, [*arguments, *ends])
        builder.branch(head)
        builder.position_at_end(end)
        builder.ret_void()
        return function


def private_bytes(place: Placement, program: LoopProgram, registers: tuple[str, ...]) -> Any:
    """The bytes that a chunk needs in the parallel loop that needs most: 0 or an i64."""
    most: Any = 0
    for region in parallel_loops(program.body):
        own = [one for one in private_arrays(program, region) if one.name not in registers]
        needed = place.total([place.sized(array) for array in own])
        most = needed if isinstance(most, int) else place.larger(most, needed)
    return most


def shared_arrays(program: LoopProgram, registers: tuple[str, ...]) -> list[Array]:
    """The temporaries and buffers that live outside of all parallel loops and need memory."""
    accessed = accessed_arrays(without_parallel_loops(program.body))
    for region in parallel_loops(program.body):
        private = {array.name for array in private_arrays(program, region)}
        accessed |= accessed_arrays(region.body) - private
    return [
        array
        for name, array in program.arrays.items()
        if array.role is Role.TEMPORARY and name not in registers and name in accessed
    ]


def _slot(builder: ir.IRBuilder, pointer: Any, position: int) -> Any:
    return builder.gep(pointer, [INDEX(position * _SLOT)], inbounds=True, source_etype=BYTE)


def _load(builder: ir.IRBuilder, pointer: Any, position: int, type_: Any) -> Any:
    return builder.load(_slot(builder, pointer, position), typ=type_)
