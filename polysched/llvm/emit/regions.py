"""Parallel loops: outline each body as a function over a range of iterations.

A parallel region has two functions::

    NAME.region0(ptr array..., ptr private, i64 parameter..., i64 variable..., i64 lower, i64 upper)
    NAME.region0.work(ptr task)

The first function runs a range of iterations. Every thread of a team runs the second function,
which takes chunks of iterations until none is left. Chunks have nearly equal lengths. If there are
enough iterations, there are more chunks than threads: any number of threads completes the work, and
the other threads take over the chunks of a delayed thread. Each thread has private memory
(``private``) for the buffers allocated inside the loop. A parallel loop inside a parallel loop runs
sequentially.

The caller passes the team, so the module needs no runtime. ``team`` is a function::

    void parallel(void (*work)(void *), void *task, uint32_t threads, uint32_t flags)

At most ``threads`` threads call ``work(task)`` concurrently, and the function waits for all of
them. It is ``GOMP_parallel`` of the OpenMP runtimes (GCC's libgomp manual, "Implementing PARALLEL
construct"; libomp and libiomp5 implement it too).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.emit.evaluation import Evaluator
from polysched.llvm.emit.nodes import Emitter
from polysched.llvm.emit.placement import Placement
from polysched.llvm.memory.arrays import BYTE
from polysched.llvm.memory.streaming import emit_fence
from polysched.llvm.values.expressions import INDEX
from polysched.vector.ir import Frame, Loop, VectorProgram

_INT32 = ir.IntType(32)
_POINTER = ir.PointerType()
_VOID = ir.VoidType()
_WORK = ir.FunctionType(_VOID, [_POINTER])
PARALLEL = ir.FunctionType(_VOID, [_POINTER, _POINTER, _INT32, _INT32])
_SLOT = 8  # bytes of a pointer or an i64

CHUNKS_A_THREAD = 8
"""More chunks balance delayed threads better; fewer chunks have longer runs of iterations."""


@dataclass(frozen=True, eq=False)
class Team:
    """The threads of a kernel's function.

    Attributes:
        parallel: the function that runs a task on the team.
        threads: the largest number of threads, at least 1 (i64).
        private: pointer to the private memory of the first thread.
        private_bytes: the bytes of private memory of each thread (i64).
    """

    parallel: Any
    threads: Any
    private: Any
    private_bytes: Any


@dataclass(frozen=True, eq=False)
class _Callee:
    """A function behind a pointer: llvmlite needs its type, which an opaque pointer lacks."""

    pointer: Any
    function_type: ir.FunctionType

    def get_reference(self) -> str:
        """The pointer's name in LLVM's text."""
        return str(self.pointer.get_reference())


class Regions:
    """Emit the parallel loops of one kernel."""

    def __init__(self, program: VectorProgram, team: Team, module: ir.Module) -> None:
        self.program = program
        self.team = team
        self.module = module
        self.count = 0

    def run(self, emitter: Emitter, node: Loop, lower: ir.Value, upper: ir.Value) -> None:
        """Emit a parallel loop that runs at least once, at the builder's position."""
        builder, team, frame = emitter.builder, self.team, node.region
        assert frame is not None
        outside = [emitter.values.storages[name].base for name in frame.outside]
        captured = [
            *outside,
            team.private,
            *emitter.values.parameters.values(),
            *emitter.values.variables.values(),
        ]
        name = f"{self.program.name}.region{self.count}"
        self.count += 1
        body = self._body(name, emitter, node, frame, [value.type for value in captured])
        distance = builder.add(builder.sub(upper, lower), INDEX(node.step - 1))
        iterations = builder.sdiv(distance, INDEX(node.step))
        placement = Placement(builder, {}, self.program)
        threads = placement.smaller(team.threads, iterations)
        chunks = placement.smaller(builder.mul(threads, INDEX(CHUNKS_A_THREAD)), iterations)
        alone = builder.icmp_signed("<=", threads, INDEX(1))
        with builder.if_else(alone) as (inline, several):
            with inline:
                builder.call(body, [*captured, lower, upper])
            with several:
                shared = [chunks, lower, iterations, team.private_bytes, *captured]
                task = self._task(builder, [INDEX(0), INDEX(0), *shared])
                work = self._work(name, body, node, [value.type for value in shared])
                fork = _Callee(team.parallel, PARALLEL)
                builder.call(fork, [work, task, builder.trunc(threads, _INT32), _INT32(0)])

    def _task(self, builder: ir.IRBuilder, values: Sequence[Any]) -> Any:
        """Build the shared task on the stack of the kernel's function."""
        with builder.goto_entry_block():
            task = builder.alloca(INDEX, size=len(values))
            task.type = _POINTER
        for position, value in enumerate(values):
            builder.store(value, _slot(builder, task, position))
        return task

    def _body(
        self, name: str, emitter: Emitter, node: Loop, frame: Frame, types: list[ir.Type]
    ) -> ir.Function:
        """Emit the function that runs the iterations from a lower to an upper bound."""
        signature = ir.FunctionType(_VOID, [*types, INDEX, INDEX])
        function, builder = new_function(self.module, name, signature, internal=True)
        *captured, lower, upper = function.args
        count = len(frame.outside)
        pointers, private, rest = captured[:count], captured[count], captured[count + 1 :]
        outer = emitter.values
        parameters = dict(zip(outer.parameters, rest, strict=False))
        variables = dict(zip(outer.variables, rest[len(parameters) :], strict=True))
        placement = Placement(builder, parameters, self.program)
        storages = {}
        for array, pointer in zip(frame.outside, pointers, strict=True):
            pointer.add_attribute("noalias")
            storages[array] = placement.argument(array, pointer)
        storages |= placement.on_stack(frame)
        storages |= placement.carved(placement.on_heap(frame), private)
        registers = placement.registers(frame)
        values = Evaluator(
            builder, parameters, storages, registers, variables=variables, features=outer.features
        )
        Emitter(values).counted(node, lower, upper)
        if any(storage.array.streamed for storage in storages.values()):
            emit_fence(builder)
        builder.ret_void()
        values.slots.drop_needless()
        return function

    def _work(self, name: str, body: ir.Function, node: Loop, types: list[ir.Type]) -> ir.Function:
        """Emit the function that every thread runs: it takes chunks until none is left.

        The task begins with the number of the next chunk and the number of the next thread.
        """
        function, builder = new_function(self.module, f"{name}.work", _WORK, internal=True)
        (task,) = function.args
        chunks, lower, iterations, private_bytes, *captured = (
            _load(builder, task, position + 2, type_) for position, type_ in enumerate(types)
        )
        thread = builder.atomic_rmw("add", _slot(builder, task, 1), INDEX(1), "monotonic")
        placement = Placement(builder, {}, self.program)
        length, longer = builder.sdiv(iterations, chunks), builder.srem(iterations, chunks)
        private_at = sum(value.type == _POINTER for value in captured) - 1
        head = builder.append_basic_block("chunk")
        run = builder.append_basic_block("run")
        end = builder.append_basic_block("end")
        builder.branch(head)
        builder.position_at_end(head)
        # A relaxed counter suffices: the start and end of the parallel region order memory.
        chunk = builder.atomic_rmw("add", task, INDEX(1), "monotonic", name="chunk")
        builder.cbranch(builder.icmp_signed("<", chunk, chunks), run, end)
        builder.position_at_end(run)
        is_longer = builder.zext(builder.icmp_signed("<", chunk, longer), INDEX)
        first = builder.add(builder.mul(chunk, length), placement.smaller(chunk, longer))
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


def private_bytes(placement: Placement, frames: Sequence[Frame]) -> Any:
    """The largest private memory of a thread in any parallel loop: 0 or an i64 of bytes."""
    most: Any = 0
    for frame in frames:
        needed = placement.total(placement.on_heap(frame))
        most = needed if isinstance(most, int) else placement.larger(most, needed)
    return most


def _slot(builder: ir.IRBuilder, pointer: Any, position: int) -> Any:
    return builder.gep(pointer, [INDEX(position * _SLOT)], inbounds=True, source_etype=BYTE)


def _load(builder: ir.IRBuilder, pointer: Any, position: int, type_: Any) -> Any:
    return builder.load(_slot(builder, pointer, position), typ=type_)
