"""Compiled kernels: checking and running calls."""

from __future__ import annotations

import ctypes
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from polysched.errors import CallError, OutOfMemoryError
from polysched.html import preformatted, titled
from polysched.ir.semantics.value_range import require_values
from polysched.machine.description import Machine
from polysched.runtime.array_layout import Layout, layout_of
from polysched.runtime.bound_call import BoundCall, no_workspace
from polysched.runtime.jit import NativeFunction, emit_assembly
from polysched.runtime.memory import (
    address,
    aligned_empty,
    aligned_zeros,
    share_memory,
    simple_addresses,
)
from polysched.runtime.native_calls import CALL_TABLE, PlannedCall, on_team, planned_call
from polysched.runtime.pipeline import CompileOptions
from polysched.runtime.plan import Allocation, Plan, bind_names, make_plan
from polysched.runtime.signature import Signature, integer_parameter, overlap_error
from polysched.runtime.tensors import as_given
from polysched.runtime.threads import number_of_threads, run_on_team
from polysched.runtime.views import as_argument

if TYPE_CHECKING:
    from polysched.runtime._call_table import CallTable

NumpyArray = np.ndarray[Any, Any]

LARGEST_TEAM = 1024
"""Bound of the number of threads; a larger number is taken for a typing error."""

_PLANS = 256
"""Combinations of types, shapes, strides and parameters whose plans a kernel keeps."""


def _new_call_table() -> CallTable | None:
    return None if CALL_TABLE is None else CALL_TABLE(_PLANS, lambda *_: NotImplemented)


@dataclass(frozen=True, eq=False)
class CompiledKernel:
    """A kernel compiled for one machine; call it with arrays.

    ``kernel(x, y, out)`` passes arrays by position in the order of declaration, ``kernel(x=...,
    y=...)`` by name. Outputs may be left out: they are then allocated and zeroed. Parameters that
    the shapes do not determine are passed by name, ``kernel(x, n=5)``, or after all arrays. A
    number may stand for an input without dimensions. The call returns the outputs, or None.

    Arguments are numpy arrays, objects with the buffer protocol or DLPack tensors in the CPU's
    memory. They are not copied. Their strides are the declared ones, by default contiguous. Each
    call checks types, shapes, strides, alignment, overlap and the values of index arrays before it
    computes anything. ``kernel.bind(...)`` checks them once, for calls that are repeated.

    The GIL is released while the kernel runs, and several threads may call it at the same time. No
    other thread may change the values of index arrays during a call.

    ``kernel(..., threads=4)`` sets the number of threads of parallel loops. By default these run on
    all cores that this process may use, shared with concurrent calls.

    Attributes:
        signature: the arrays and parameters.
        llvm: the LLVM IR text that the kernel was compiled from.
        machine: the machine that it was compiled for.
        options: the optimization levels.
        native: the machine code.
        is_threaded: whether the kernel has parallel loops.

    Raises:
        CallError: an argument does not fit; nothing has been written.
        OutOfMemoryError: there is no memory for an output or for the kernel's workspace; nothing
            has been written.
    """

    signature: Signature
    llvm: str = field(repr=False)
    machine: Machine
    options: CompileOptions
    native: NativeFunction = field(repr=False)
    is_threaded: bool = False
    # A field, because a cached property takes 30 ns longer to read.
    _call_table: CallTable | None = field(default_factory=_new_call_table, init=False, repr=False)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.signature.name

    @cached_property
    def assembly(self) -> str:
        """The assembly text, generated on first use."""
        return emit_assembly(self.llvm, self.machine, self.options)

    def __repr__(self) -> str:
        return f"<CompiledKernel {self.signature} for {self.machine.name}>"

    def _repr_html_(self) -> str:
        text = preformatted("\n".join(self.signature.lines()))
        return titled(f"compiled {self.name} for {self.machine.name}", text)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"the compiled kernel '{self.name}' is machine code of this process, which cannot be "
            "pickled. Pickle its schedule, and compile it in the other process"
        )

    @property
    def __signature__(self) -> inspect.Signature:
        return self.signature.inspected()

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        """Run the kernel; see the class."""
        table = self._call_table
        if table is None:
            return self._run(arrays, named)
        if not named:
            result = table.run((), *arrays)
            return self._run(arrays, named, ((), arrays)) if result is NotImplemented else result
        names, given = tuple(named), (*arrays, *named.values())
        result = table.run(names, *given)
        return self._run(arrays, named, (names, given)) if result is NotImplemented else result

    def _run(
        self,
        arrays: tuple[Any, ...],
        named: dict[str, Any],
        repeated: tuple[tuple[str, ...], tuple[Any, ...]] | None = None,
    ) -> Any:
        """Run the kernel by Python; ``repeated`` are names and arguments for the C extension."""
        if not named:
            for value in arrays:
                if type(value) is not np.ndarray:
                    break
            else:
                plan = self._plan(tuple(map(layout_of, arrays)), (), ())
                if plan.is_direct:
                    self.run_plan(plan, arrays)
                    if repeated is not None:
                        self._add_call(plan, None, *repeated)
                    return self.signature.result_of(arrays)
        plan, passed, views, threads = self._plan_call(arrays, named)
        self.run_plan(plan, views, threads)
        if repeated is not None:
            self._add_call(plan, threads, *repeated)
        if not plan.in_order:
            passed = tuple([passed[source] for source in plan.sources])
        return as_given(passed, self.signature.result_of(passed))

    def _add_call(
        self, plan: Plan, threads: int | None, names: tuple[str, ...], given: tuple[Any, ...]
    ) -> None:
        """Have the C extension run calls with such arguments, if it can.

        The values of index arrays are checked in Python, so calls with them are not added.
        """
        if self._call_table is None or plan.ranges:
            return
        arrays = sum(isinstance(value, np.ndarray) for value in given)
        numbers = any(isinstance(value, np.generic) for value in given)
        if numbers or arrays != len(self.signature.arrays) - len(plan.allocations):
            return  # a parameter is an array or a numpy scalar: their values are not compared
        self._call_table.add(names, given, partial(self._planned_call, plan, threads, given))

    def _planned_call(self, plan: Plan, threads: int | None, given: tuple[Any, ...]) -> PlannedCall:
        # The plan counts the arrays, `given` has parameters and the number of threads among them.
        positions = [i for i, value in enumerate(given) if isinstance(value, np.ndarray)]
        positions.extend(range(len(given), len(given) + len(plan.allocations)))
        moved = replace(plan, sources=tuple([positions[source] for source in plan.sources]))
        results = [moved.sources[output] for output in self.signature.outputs]
        allocations = [partial(allocated, self.name, output) for output in plan.allocations]
        call = planned_call(self.native, self.signature, moved, results, allocations)
        return on_team(call, self.native, plan, threads) if self.is_threaded else call

    def bind(self, /, *arrays: Any, **named: Any) -> BoundCall:
        """Check the arguments of a call once; calling the returned object runs the kernel.

        ``call = kernel.bind(x, y, out, threads=4)`` takes the same arguments as the kernel;
        ``call()`` then runs it without the checks. See :class:`BoundCall` for its conditions.

        Raises:
            OutOfMemoryError: an output that was left out does not fit into memory.
        """
        plan, passed, views, threads = self._plan_call(arrays, named)
        addresses = self._addresses(plan, views)
        if self.is_threaded:
            run = partial(run_on_team, self.native.call, addresses, plan.parameters, threads)
        else:  # ctypes objects are passed faster than integers
            pointers = map(ctypes.c_void_p, addresses)
            run = partial(self.native.call, *pointers, *map(ctypes.c_int64, plan.parameters))
        return BoundCall(
            self.name,
            self.signature.result_of([passed[source] for source in plan.sources]),
            run,
            partial(self.check_values, plan, views) if plan.ranges else None,
            (passed, views),
        )

    def run_plan(self, plan: Plan, views: Sequence[NumpyArray], threads: int | None = None) -> None:
        """Run the kernel on arrays whose layouts and index values have been checked.

        Args:
            plan: the plan for the arrays' layouts.
            views: the passed arrays of the plan.
            threads: the number of threads; None for the call's share of the usable cores.

        Raises:
            CallError: two arrays overlap and one of them is written; nothing has been written.
            OutOfMemoryError: there is no memory for the workspace; nothing has been written.
        """
        addresses = self._addresses(plan, views)
        if self.is_threaded:
            status = run_on_team(self.native.call, addresses, plan.parameters, threads)
        else:
            status = self.native.call(*addresses, *plan.parameters)
        if status:
            raise no_workspace(self.name)

    def _addresses(self, plan: Plan, views: Sequence[NumpyArray]) -> list[int]:
        """The addresses of the arrays in the signature's order; they must not overlap."""
        if plan.all_simple:
            addresses = simple_addresses(views)
        else:
            addresses = list(map(address, views, plan.is_simple))
        if not plan.in_order:
            addresses = [addresses[source] for source in plan.sources]
        for first, second, first_bytes, second_bytes in plan.overlaps:
            distance = addresses[second] - addresses[first]
            if -second_bytes < distance < first_bytes and share_memory(
                views[plan.sources[first]], views[plan.sources[second]]
            ):
                raise overlap_error(self.signature, first, second)
        return addresses

    def _plan_call(
        self, arrays: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Plan, tuple[Any, ...], tuple[NumpyArray, ...], int | None]:
        """Check a call's arguments, apart from their addresses, and allocate missing outputs.

        Returns:
            the plan, the passed arrays as the caller gave them, the same as numpy arrays, and the
            number of threads.
        """
        names: tuple[str, ...] = ()
        parameters: tuple[tuple[str, int], ...] = ()
        threads = None
        if len(arrays) > len(self.signature.arrays):
            arrays, named = self.signature.with_named_parameters(arrays, named)
        if named:
            arrays, names, parameters, threads = self._sort_arguments(arrays, named)
        views: tuple[NumpyArray, ...] = arrays
        for value in arrays:
            if type(value) is not np.ndarray:
                views = self._views(arrays, names)
                break
        plan = self._plan(tuple(map(layout_of, views)), names, parameters)
        if plan.ranges:
            self.check_values(plan, views)
        if plan.allocations:
            outputs = [allocated(self.name, allocation) for allocation in plan.allocations]
            arrays, views = (*arrays, *outputs), (*views, *outputs)
        return plan, arrays, views, threads

    def _sort_arguments(
        self, positional: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[str, ...], tuple[tuple[str, int], ...], int | None]:
        """All arrays, the names of the last ones, the parameters and the number of threads."""
        threads = None
        if "threads" in named and self._has_threads_option:
            threads = self._threads(named.pop("threads"))
            if not named:
                return positional, (), (), threads
        parameters = tuple(
            [
                (name, integer_parameter(self.signature, name, named.pop(name)))
                for name in self.signature.parameters
                if name in named
            ]
        )
        return (*positional, *named.values()), tuple(named), parameters, threads

    @cached_property
    def _has_threads_option(self) -> bool:
        """Whether ``threads=`` is the number of threads, not an argument of the kernel's own."""
        return "threads" not in self.signature.parameters + self.signature.array_names

    def _threads(self, threads: Any) -> int:
        """Check ``threads=``."""
        if not self.is_threaded and threads != 1:
            raise CallError(
                f"kernel '{self.name}' has no parallel loop, so threads={threads!r} has no effect; "
                "leave it out, or schedule a loop with parallel()"
            )
        return min(number_of_threads(f"kernel '{self.name}'", threads), LARGEST_TEAM)

    def plan(
        self, layouts: tuple[Layout, ...], names: tuple[str, ...], parameters: dict[str, Any]
    ) -> Plan:
        """The plan of a call with arrays of these layouts and names, and these parameters."""
        integers = {
            n: integer_parameter(self.signature, n, value) for n, value in parameters.items()
        }
        return self._plan(layouts, names, tuple(integers.items()))

    @cached_property
    def _plan(self) -> Callable[..., Plan]:
        # A plan follows from its arguments alone, so threads may share it.
        return functools.lru_cache(maxsize=_PLANS)(partial(make_plan, self.signature))

    def _views(self, arrays: Sequence[Any], names: tuple[str, ...]) -> tuple[NumpyArray, ...]:
        names = bind_names(self.signature, len(arrays) - len(names), names)
        return tuple(
            as_argument(value, self.signature.by_name[name], f"kernel '{self.name}'")
            for value, name in zip(arrays, names, strict=True)
        )

    def check_values(self, plan: Plan, views: Sequence[NumpyArray]) -> None:
        """Check the values of index arrays."""
        for name, source, lower, upper, declared in plan.ranges:
            subject = f"kernel '{self.name}': array '{name}'"
            require_values(subject, views[source], lower, upper, declared)


def allocated(kernel: str, output: Allocation, *, is_zeroed: bool = True) -> NumpyArray:
    """Allocate an output.

    Raises:
        OutOfMemoryError: there is not that much memory.
    """
    try:
        if is_zeroed:
            return aligned_zeros(output.shape, output.dtype, strides=output.strides)
        return aligned_empty(output.shape, output.dtype)
    except (MemoryError, ValueError) as error:
        raise OutOfMemoryError(
            f"kernel '{kernel}': output '{output.name}' of shape {output.shape} does not "
            f"fit into memory: {error}"
        ) from error
