"""Machine code of size-generic kernels, kept on disk by the description of its block.

The code of other kernels is found on disk by its LLVM text, which takes a proof and the emitter to
make. A block's code is found by the block itself, the machine, and the state of this package.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

from llvmlite import binding

from polysched.library.matmul.generic.steps import step_runner
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.bound_call import no_workspace
from polysched.runtime.cache import ENVIRONMENT_VARIABLE, ObjectCache, cache_key, default_cache
from polysched.runtime.collection import collection_paused
from polysched.runtime.jit import Entry, load_object, new_linker, versions
from polysched.runtime.package_state import package_state
from polysched.runtime.threads import run_on_team

if TYPE_CHECKING:
    from polysched.user import Schedule

HEADER = 3
"""Bytes before the object code on disk: whether loops are threaded, and the arguments' numbers."""


class Code(Protocol):
    """A kernel whose description determines its code: its ``repr`` is the key on disk."""

    @property
    def name(self) -> str:
        """The name of the kernel."""
        ...

    def schedule(self) -> Schedule:
        """The kernel's schedule."""
        ...


class KernelLoader:
    """The size-generic kernels of a machine, loaded when they are first used.

    One linker serves them all, because none is unloaded before the others: a kernel takes 0.2 ms to
    load, and 0.9 ms with a linker of its own.

    Args:
        folder: returns the cache of object code on disk.
    """

    def __init__(self, machine: Machine, folder: Callable[[], ObjectCache]) -> None:
        self.machine = machine
        self._folder = folder
        self._addresses: dict[str, int] = {}
        self._code: list[Callable[..., int]] = []
        self._lock = threading.Lock()

    @cached_property
    def runner(self) -> Callable[..., int]:
        """The function that runs steps (:mod:`polysched.library.matmul.generic.steps`)."""
        return step_runner(self.machine)

    @cached_property
    def _linker(self) -> binding.LLJIT:
        return new_linker(self.machine)

    def address(self, block: Code) -> int:
        """The address of the machine code of a block; compiled if it is not on disk.

        The function takes the addresses of the arrays, then the parameters, and returns 0, or 1 if
        there is no memory for its workspace.
        """
        found = self._addresses.get(block.name)
        if found is not None:
            return found
        return self._linked(block, _code(block, self.machine, self._folder()))

    def is_made(self, block: Code) -> bool:
        """Load a block if it is on disk; returns whether it is loaded."""
        if block.name in self._addresses:
            return True
        code = self._folder().load(_key(block, self.machine))
        if code is not None:
            self._linked(block, code)
        return code is not None

    def _linked(self, block: Code, code: bytes) -> int:
        with self._lock:  # another thread may have linked it
            if block.name not in self._addresses:
                native = _loaded(code, block, self.machine, self._linker).call
                address = ctypes.cast(native, ctypes.c_void_p).value  # type: ignore[arg-type]
                assert address is not None
                self._code.append(native)
                self._addresses[block.name] = address
            return self._addresses[block.name]


@dataclass(frozen=True)
class NativeCode:
    """Machine code in this process, which is unloaded with ``call``.

    ``is_threaded`` tells whether the kernel has parallel loops. ``call`` then takes a team after
    the arrays and the number of threads last (:func:`polysched.runtime.threads.run_on_team`).
    """

    name: str
    call: Callable[..., int]
    is_threaded: bool

    def run(self, addresses: Sequence[int], parameters: Sequence[int], threads: int) -> None:
        """Run the code on at most ``threads`` threads.

        Raises:
            OutOfMemoryError: there is no memory for its workspace.
        """
        if self.is_threaded:
            status = run_on_team(self.call, addresses, parameters, threads)
        else:
            status = self.call(*addresses, *parameters)
        if status:
            raise no_workspace(self.name)


@lru_cache(maxsize=1024)
def native_code(block: Code) -> NativeCode:
    """The code of a block for this machine: from the disk, or proved, compiled and stored there."""
    machine = load_machine(None)
    return _loaded(_code(block, machine, object_folder()), block, machine)


def is_stored(block: Code) -> bool:
    """Whether the code of a block for this machine is on disk."""
    return object_folder().load(_key(block, load_machine(None))) is not None


def _code(block: Code, machine: Machine, folder: ObjectCache) -> bytes:
    key = _key(block, machine)
    code = folder.load(key)
    if code is None:
        with collection_paused():
            # Imports the checker and the passes, for which calls that find their code do not wait.
            from polysched.library.matmul.generic.building import built  # noqa: PLC0415

            code = built(block, machine)
        folder.store(key, code)
    return code


def _key(block: Code, machine: Machine) -> str:
    return cache_key(*versions(), package_state(), repr(machine), repr(block))


def _loaded(
    code: bytes, block: Code, machine: Machine, linker: binding.LLJIT | None = None
) -> NativeCode:
    is_threaded, pointers, integers = code[:HEADER]
    native = load_object(code[HEADER:], Entry(block.name, pointers, integers), machine, linker)
    return NativeCode(block.name, native.call, bool(is_threaded))


def object_folder() -> ObjectCache:
    """The cache of object code on disk."""
    return _folder(os.environ.get(ENVIRONMENT_VARIABLE))


@cache
def _folder(chosen: str | None) -> ObjectCache:
    del chosen  # only the key: the folder follows the environment
    return default_cache()
