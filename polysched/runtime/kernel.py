"""Compiled kernels: what a person calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import index
from typing import Any

import numpy as np

from polysched.errors import CallError, OutOfMemoryError
from polysched.ir.semantics.value_range import require_values
from polysched.machine.description import Machine
from polysched.runtime.cache import ObjectCache, default_cache
from polysched.runtime.door import Door, Target
from polysched.runtime.jit import Entry, NativeFunction, compile_once, emit_assembly
from polysched.runtime.memory import address, aligned_zeros, share_memory
from polysched.runtime.pipeline import CompileOptions
from polysched.runtime.plan import (
    Allocation,
    CallForm,
    Layout,
    Plan,
    Strides,
    bind_names,
    make_plan,
)
from polysched.runtime.signature import Declaration, Signature, signature_of
from polysched.runtime.threads import (
    current_team,
    number_of_threads,
    running_calls,
    usable_threads,
)
from polysched.runtime.views import as_array

# More threads than that are taken for a slip of the finger.
LARGEST_TEAM = 1024

# How many combinations of types, shapes and parameters a kernel remembers the plans of, and how
# many of them it runs by the short way.
_PLANS, _KINDS = 256, 16


@dataclass(frozen=True, eq=False)
class CompiledKernel:
    """A kernel compiled for one machine; call it with arrays.

    ``kernel(x, y, out)`` passes arrays by position in the order of declaration, ``kernel(x=...,
    y=...)`` by name. Outputs may be left out: they are then allocated and zeroed. Parameters
    are inferred from the shapes; what the shapes do not tell is passed by name, ``kernel(x, n=5)``.
    The call returns the output (a tuple if there are several, None if there is none), allocated or
    as passed.

    Arrays are numpy arrays, objects with the buffer protocol or DLPack tensors in the CPU's memory;
    none is copied, and their strides are as declared, mostly contiguous. Every call checks all of
    them and raises `CallError` before anything is computed, and `OutOfMemoryError` where there is
    no memory for the kernel's workspace. The GIL is released while the kernel runs, and threads may
    call it at the same time. The values of index
    arrays are checked before it runs: no other thread may change them meanwhile.

    Parallel loops run on ``kernel(..., threads=4)`` threads, by default on as many as there are
    cores that this process may use, shared with the calls that run at the same time.

    ``signature`` says what the kernel takes, ``llvm`` is the LLVM IR text it was compiled from,
    ``machine`` what it was compiled for and ``options`` how.
    """

    signature: Signature
    llvm: str = field(repr=False)
    machine: Machine
    options: CompileOptions
    native: NativeFunction = field(repr=False)
    is_threaded: bool = False

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.signature.name

    @cached_property
    def assembly(self) -> str:
        """The assembly text, made when first asked for."""
        return emit_assembly(self.llvm, self.machine, self.options)

    def __repr__(self) -> str:
        return f"<CompiledKernel {self.signature} for {self.machine.name}>"

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        """Run the kernel; see the class."""
        option = named.get("threads") if len(named) == 1 and self._takes_threads else None
        # A call is recognized by its arrays, so a kernel without any always goes the long way.
        is_short = bool(self.signature.arrays) and (not named or type(option) is int)
        left_out = (None,) if len(arrays) < len(self.signature.arrays) else ()
        if is_short and (left_out or arrays[-1] is not None):
            done = self._door.enter(option, *arrays, *left_out)
            if done is not None:
                return done if left_out else self.signature.result_of(arrays)
        form = CallForm(len(arrays))
        threads, given = None, arrays
        if named:
            threads = self._threads(named)
        if named:
            form, arrays = _split(self.signature, arrays, named)
        views: Sequence[np.ndarray[Any, Any]] = arrays
        for value in arrays:
            if type(value) is not np.ndarray:
                views = self._views(form, arrays)
                break
        layouts = tuple([(v.dtype, v.shape, v.flags.num) for v in views])
        strides = tuple([v.strides for v in views]) if self.signature.has_strides else ()
        plan = self._plan(form, layouts, strides)
        if plan.ranges:
            self._check_values(plan, views)
        addresses = list(map(address, views, plan.writable))
        if plan.allocations:
            outputs = [self._allocated(allocation) for allocation in plan.allocations]
            arrays = (*arrays, *outputs)
            addresses += [address(output, output.flags.c_contiguous) for output in outputs]
        if not plan.in_order:
            arrays = tuple([arrays[source] for source in plan.sources])
            addresses = [addresses[source] for source in plan.sources]
        self._run(plan, addresses, views, threads)
        if is_short and views is given:
            self._learn(option, threads, given, plan)
        return self.signature.result_of(arrays)

    def _learn(self, option: Any, threads: int | None, arrays: tuple[Any, ...], plan: Plan) -> None:
        """Remember a call by position, if all of the next ones of its kind is known."""
        made = tuple(
            (partial(aligned_zeros, strides=one.strides), (one.shape, one.dtype))
            for one in plan.allocations
        )
        if plan.ranges or len(made) > 1 or not plan.in_order:
            return
        team = (current_team().address,) if self.is_threaded else ()
        number = (threads or 0,) if self.is_threaded else ()
        shares = self.is_threaded and threads is None
        target = Target(
            self.native.call,
            sources=plan.sources,
            values=(*team, *plan.parameters, *number),
            threads_at=1 + len(plan.parameters) if shares else None,
            written=tuple(i for i, one in enumerate(self.signature.arrays) if one.is_written),
            allocate=made[0] if made else None,
        )
        self._door.learn(option, (*arrays, *(None for _ in made)), target)

    @cached_property
    def _door(self) -> Door:
        return Door(_KINDS)

    @cached_property
    def _takes_threads(self) -> bool:
        """Whether ``threads=`` is the number of threads, not an argument of the kernel's own."""
        own = self.signature.parameters + self.signature.array_names
        return self.is_threaded and "threads" not in own

    def _threads(self, named: dict[str, Any]) -> int | None:
        """Take ``threads=`` out of the arguments by name, unless it is one of the kernel's own."""
        if (
            "threads" not in named
            or "threads" in self.signature.parameters + self.signature.array_names
        ):
            return None
        threads = named.pop("threads")
        if not self.is_threaded:
            raise CallError(
                f"kernel '{self.name}' has no parallel loop, so threads={threads!r} says nothing; "
                "leave it out, or schedule a loop with parallel()"
            )
        return min(number_of_threads(f"kernel '{self.name}'", threads), LARGEST_TEAM)

    @cached_property
    def _plan(self) -> Callable[[CallForm, tuple[Layout, ...], tuple[Strides, ...]], Plan]:
        # A plan follows from its arguments alone, so remembering it is safe between threads too.
        return functools.lru_cache(maxsize=_PLANS)(functools.partial(make_plan, self.signature))

    def _views(self, form: CallForm, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        names = bind_names(self.signature, form)
        return [
            as_array(value, f"kernel '{self.name}': array '{name}'")
            for value, name in zip(arrays, names, strict=True)
        ]

    def _check_values(self, plan: Plan, views: Sequence[np.ndarray[Any, Any]]) -> None:
        for name, source, lower, upper, declared in plan.ranges:
            subject = f"kernel '{self.name}': array '{name}'"
            require_values(subject, views[source], lower, upper, declared)

    def _run(
        self,
        plan: Plan,
        addresses: list[int],
        views: Sequence[np.ndarray[Any, Any]],
        threads: int | None,
    ) -> None:
        for first, second, first_bytes, second_bytes in plan.overlaps:
            distance = addresses[second] - addresses[first]
            if -second_bytes < distance < first_bytes and share_memory(
                views[plan.sources[first]], views[plan.sources[second]]
            ):
                raise _overlap(self.signature, first, second)
        if not self.is_threaded:
            status = self.native.call(*addresses, *plan.parameters)
        else:
            with running_calls() as calls:
                number = threads or max(1, usable_threads() // calls)
                team = current_team().address
                status = self.native.call(*addresses, team, *plan.parameters, number)
        if status:
            raise OutOfMemoryError(
                f"kernel '{self.name}': no memory for its workspace; nothing was written"
            )

    def _allocated(self, output: Allocation) -> np.ndarray[Any, Any]:
        try:
            return aligned_zeros(output.shape, output.dtype, strides=output.strides)
        except (MemoryError, ValueError) as error:
            raise OutOfMemoryError(
                f"kernel '{self.name}': output '{output.name}' of shape {output.shape} does not "
                f"fit into memory: {error}"
            ) from error


def compile_kernel(
    declaration: Declaration,
    llvm: str,
    machine: Machine,
    *,
    threaded: bool = False,
    options: CompileOptions | None = None,
    cache: ObjectCache | None = None,
) -> CompiledKernel:
    """Compile the LLVM IR text of a kernel, which defines ``i32 NAME(ptr, ..., i64, ...)``.

    The function takes a pointer for each argument array of ``declaration`` in order, then each
    parameter; it returns 0, or 1 if it could not allocate its workspace and wrote nothing.
    If it is ``threaded``, a pointer to a team's functions comes after the arrays and the number of
    threads last. ``cache`` defaults to the user's cache folder.

    Raises:
        LoweringError: LLVM refuses the text.
        MachineError: this host lacks an instruction set that the code may use.
    """
    signature = signature_of(declaration)
    more = int(threaded)
    entry = Entry(signature.name, len(signature.arrays) + more, len(signature.parameters) + more)
    chosen = options or CompileOptions()
    stored = default_cache() if cache is None else cache
    native = compile_once(llvm, entry, machine, chosen, stored)
    return CompiledKernel(signature, llvm, machine, chosen, native, threaded)


def _split(
    signature: Signature, positional: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[CallForm, tuple[Any, ...]]:
    """Tell parameters from arrays given by name; the arrays, and how they are given."""
    parameters, arrays = [], {}
    for name, value in named.items():
        if name in signature.parameters:
            parameters.append((name, _integer(signature, name, value)))
        else:
            arrays[name] = value
    form = CallForm(len(positional), tuple(arrays), tuple(parameters))
    return form, (*positional, *arrays.values())


def _integer(signature: Signature, name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool | np.bool_):
            return index(value)
    except TypeError:
        pass
    raise CallError(
        f"kernel '{signature.name}': parameter '{name}' is {value!r} of type "
        f"{type(value).__name__}; expected an integer"
    )


def _overlap(signature: Signature, first: int, second: int) -> CallError:
    a, b = signature.arrays[first], signature.arrays[second]
    written = a if a.is_written else b
    return CallError(
        f"kernel '{signature.name}': arrays '{a.name}' and '{b.name}' overlap in memory, and "
        f"'{written.name}' is written; expected separate memory: pass a copy of one of them"
    )
