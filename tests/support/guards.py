"""Guard pages around the arrays of every compiled call, as a plugin of pytest.

    POLYSCHED_NO_EXTENSION=1 python -m pytest -p tests.support.guards --guards=end tests/library

Each array of a call is copied into memory of its own, directly before a page that may not be
touched (``end``) or directly after one (``start``). The rest of that memory, the gaps of arrays
with strides included, is filled with a canary. The kernel runs on the copies; afterwards the
canaries and the arrays that the kernel only reads must be as they were, and what it wrote is copied
back. Workspaces, which kernels allocate themselves, get the same treatment at their end.

Calls of kernels and cached calls of the library are guarded alike, because both end in
``CompiledKernel.run_plan`` when the C extension is not used. Not guarded are bound calls, arrays
that share memory with another argument of the call, arrays with zero or negative strides, and
misaligned ones. A test that looks at addresses, or that has two calls share an array, cannot run
like this; it is marked ``unguarded`` and left out.
"""

from __future__ import annotations

import ctypes
import faulthandler
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from polysched.ir.core.strides import elements_spanned
from polysched.runtime import jit as jit_module
from polysched.runtime.extension import NO_EXTENSION
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.native_calls import CALL_TABLE
from polysched.runtime.plan import Plan
from tests.library.transpose.fenced import PAGE, Fenced

NumpyArray = np.ndarray[Any, Any]

CANARY = 0xA5


class GuardError(AssertionError):
    """A kernel wrote where it must not."""


class Guarded:
    """A copy of an array between guard pages.

    Args:
        original: the array.
        at_end: whether the copy ends, or begins, at a forbidden page.
    """

    def __init__(self, original: NumpyArray, *, at_end: bool) -> None:
        self.original = original
        span = elements_spanned(original.shape, original.strides) + original.itemsize - 1
        self.memory = Fenced(span)
        self.bytes: NumpyArray = self.memory.array((self.memory.inside,), np.uint8, at_end=False)
        self.bytes.fill(CANARY)
        self.start = self.memory.inside - span if at_end else 0
        self.array = self._over(self.bytes, original.shape, original.dtype, original.strides)
        self.array[...] = original
        self.before = self._elements(self.bytes).copy()
        self.array.flags.writeable = original.flags.writeable

    def check(self, name: str, *, is_written: bool) -> None:
        """Raise a `GuardError` if a byte between the elements, or of a read array, changed."""
        outside = self.bytes.copy()
        own = self._elements(outside)
        if not is_written and not np.array_equal(own, self.before):
            raise GuardError(f"{name} is only read, and has been changed")
        own.fill(CANARY)
        places = np.flatnonzero(outside != CANARY) - self.start
        if places.size:
            raise GuardError(
                f"{name}: {places.size} bytes outside of its elements were written, from byte "
                f"{places[0]} to {places[-1]} relative to its first element"
            )

    def copy_back(self) -> None:
        """Copy the elements to the original array, if one has changed."""
        if not np.array_equal(self._elements(self.bytes), self.before):
            self.original[...] = self.array

    def _over(
        self, memory: NumpyArray, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...]
    ) -> NumpyArray:
        return np.ndarray(shape, dtype, memory, self.start, strides)

    def _elements(self, memory: NumpyArray) -> NumpyArray:
        """The bytes of the elements, without the gaps between them."""
        shape = (*self.original.shape, self.original.itemsize)
        return self._over(memory, shape, np.uint8, (*self.original.strides, 1))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--guards``."""
    parser.addoption(
        "--guards",
        choices=("end", "start"),
        default="end",
        help="the side of an array on which the forbidden page is",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Guard compiled calls."""
    if CALL_TABLE is not None:
        raise pytest.UsageError(f"the C extension's calls cannot be guarded: set {NO_EXTENSION}=1")
    at_end = config.getoption("--guards") == "end"
    _guard_calls(at_end)
    _guard_workspaces()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests that cannot run with copies of their arrays."""
    items[:] = [item for item in items if item.get_closest_marker("unguarded") is None]


def _guard_calls(at_end: bool) -> None:
    run = CompiledKernel.run_plan

    def guarded(
        self: CompiledKernel,
        plan: Plan,
        views: Sequence[NumpyArray],
        threads: int | None = None,
    ) -> None:
        if not _can_move(views):
            return run(self, plan, views, threads)
        copies = [Guarded(view, at_end=at_end) for view in views]
        run(self, plan, [copy.array for copy in copies], threads)
        for array, source in zip(self.signature.arrays, plan.sources, strict=True):
            name = f"kernel '{self.name}': array '{array.name}'"
            copies[source].check(name, is_written=array.is_written)
            copies[source].copy_back()
        return None

    CompiledKernel.run_plan = guarded  # type: ignore[method-assign]


def _guard_workspaces() -> None:
    process = ctypes.CDLL(None)
    held: dict[int, tuple[Fenced, NumpyArray, int]] = {}

    def allocate(alignment: int, size: int) -> int:
        try:
            memory = Fenced(size)
        except (OSError, OverflowError):  # an exception cannot leave a callback
            return 0
        inside = memory.array((memory.inside,), np.uint8, at_end=False)
        inside.fill(CANARY)
        address = int(inside.ctypes.data)
        assert address % alignment == 0
        held[address] = memory, inside, size - PAGE
        return address

    def free(address: int) -> None:
        if address not in held:
            process.free(ctypes.c_void_p(address))
            return
        _, inside, used = held.pop(address)
        if (inside[used:] != CANARY).any():
            faulthandler.dump_traceback()
            process.abort()

    allocator = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(allocate)
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(free)
    builder: Any = jit_module.binding.JITLibraryBuilder

    class GuardedBuilder(builder):  # type: ignore[misc]
        functions = (allocator, release)

        def link(self, jit: Any, name: str) -> Any:
            for symbol, function in zip(("aligned_alloc", "free"), self.functions, strict=True):
                self.import_symbol(symbol, ctypes.cast(function, ctypes.c_void_p).value)
            return super().link(jit, name)

    jit_module.binding.JITLibraryBuilder = GuardedBuilder


def _can_move(arrays: Sequence[NumpyArray]) -> bool:
    """Whether copies of the arrays mean the same to a call."""
    return all(
        array.size and array.flags.aligned and min(array.strides, default=0) >= 0
        for array in arrays
    ) and not any(np.may_share_memory(one, other) for one, other in combinations(arrays, 2))
