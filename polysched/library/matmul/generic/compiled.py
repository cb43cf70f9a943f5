"""Machine code of size-generic kernels, kept on disk by the description of its block.

The code of other kernels is found on disk by its LLVM text, which takes a proof and the emitter to
make. A block's code is found by the block itself, the machine, and the state of this package.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache, cached_property
from typing import Protocol

from polysched.ir.isl.budget import SAFETY_SECONDS, time_budget
from polysched.library.matmul.generic.steps import step_runner
from polysched.llvm.emit.module import emit_module
from polysched.lower import proved
from polysched.machine.description import Machine
from polysched.runtime.cache import ENVIRONMENT_VARIABLE, ObjectCache, cache_key, default_cache
from polysched.runtime.collection import collection_paused
from polysched.runtime.jit import Entry, emit_object, load_object, versions
from polysched.runtime.package_state import package_state
from polysched.user import Schedule


class Code(Protocol):
    """A kernel whose description determines its code: its ``repr`` is the key on disk.

    ``arrays`` counts the arrays, ``parameters`` names the parameters.
    """

    @property
    def name(self) -> str:
        """The name of the kernel."""
        ...

    @property
    def arrays(self) -> int:
        """The number of arrays."""
        ...

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        ...

    def schedule(self) -> Schedule:
        """The kernel's schedule."""
        ...


class KernelLoader:
    """The size-generic kernels of a machine, loaded when they are first used.

    Args:
        machine: the machine.
        folder: the cache of object code on disk.
    """

    def __init__(self, machine: Machine, folder: ObjectCache) -> None:
        self.machine = machine
        self._folder = folder
        self._loaded: dict[str, tuple[Callable[..., int], int]] = {}

    @cached_property
    def runner(self) -> Callable[..., int]:
        """The function that runs steps (:mod:`polysched.library.matmul.generic.steps`)."""
        return step_runner(self.machine)

    def load(self, block: Code) -> tuple[Callable[..., int], int]:
        """The machine code of a block, and its address; compiled if it is not on disk.

        The function takes the addresses of the arrays, then the parameters, and returns 0, or 1 if
        there is no memory for its workspace.
        """
        loaded = self._loaded.get(block.name)
        if loaded is not None:
            return loaded
        return self._add(block, native_code(block, self.machine, self._folder))

    def is_made(self, block: Code) -> bool:
        """Load a block if it is on disk; returns whether it is loaded."""
        if block.name in self._loaded:
            return True
        code = self._folder.load(_key(block, self.machine))
        if code is not None:
            self._add(block, _loaded(code, block, self.machine, is_threaded=False))
        return code is not None

    def _add(self, block: Code, native: Callable[..., int]) -> tuple[Callable[..., int], int]:
        address = ctypes.cast(native, ctypes.c_void_p).value  # type: ignore[arg-type]
        assert address is not None
        self._loaded[block.name] = native, address
        return native, address


def native_code(
    block: Code, machine: Machine, folder: ObjectCache, *, is_threaded: bool = False
) -> Callable[..., int]:
    """The machine code of a block: from the disk, or proved, compiled and stored there.

    The code is unloaded with the function, which takes the arguments of :meth:`KernelLoader.load`.

    Args:
        block: the description of the kernel.
        machine: the machine that runs it.
        folder: the cache of object code on disk.
        is_threaded: whether the kernel has parallel loops, and takes a team after the arrays and
            the number of threads last (:func:`polysched.runtime.threads.run_on_team`).
    """
    key = _key(block, machine)
    code = folder.load(key)
    if code is None:
        code = _compiled(block, machine)
        folder.store(key, code)
    return _loaded(code, block, machine, is_threaded=is_threaded)


def _key(block: Code, machine: Machine) -> str:
    return cache_key(*versions(), package_state(), repr(machine), repr(block))


def _loaded(code: bytes, block: Code, machine: Machine, *, is_threaded: bool) -> Callable[..., int]:
    entry = Entry(block.name, block.arrays + is_threaded, len(block.parameters) + is_threaded)
    return load_object(code, entry, machine).call


def _compiled(block: Code, machine: Machine) -> bytes:
    """Prove and compile a block; raises as :func:`polysched.lower.compile`."""
    with collection_paused():
        with time_budget(SAFETY_SECONDS):
            schedule = block.schedule()
            assert schedule.kernel.parameters == block.parameters
            loops = proved(schedule, machine, guard=False)
        return emit_object(emit_module(loops, machine), block.name, machine)


def object_folder() -> ObjectCache:
    """The cache of object code on disk."""
    return _folder(os.environ.get(ENVIRONMENT_VARIABLE))


@cache
def _folder(chosen: str | None) -> ObjectCache:
    del chosen  # only the key: the folder follows the environment
    return default_cache()
