import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import islpy as isl
import pytest
from llvmlite.binding import ffi

from polysched.ir.core.kernel import Statement
from polysched.ir.isl.deadline import deadline
from polysched.ir.isl.quota import operation_quota
from polysched.machine.target import initialize_llvm
from polysched.runtime.collection import collection_paused
from polysched.runtime.threads import running_calls
from tests.support.children import holds_in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def test_children_forked_while_threads_work() -> None:
    """Each way to fork once; ``python -m tests.runtime.forking_stress`` forks 100 times."""
    ran = subprocess.run(
        [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "tests.runtime.forking_stress",
            "--forks",
            "3",
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@contextmanager
def held_by_a_thread(context: AbstractContextManager[object]) -> Iterator[Callable[[], None]]:
    """Another thread is inside ``context`` until what is given is called, or the block ends."""
    begun, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with context:
            begun.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    yield may_end.set
    may_end.set()
    thread.join()


def asks_isl() -> bool:
    """Ask isl something, with a limit."""
    with operation_quota(1000):
        return not isl.Set("{ [i] : 0 <= i < 9 }").is_empty()


def uses_llvm() -> bool:
    """Call LLVM."""
    initialize_llvm()
    ffi.lib.LLVMPY_GetDefaultTargetTriple  # noqa: B018
    with ffi.lib._lock:
        return isl.DEFAULT_CONTEXT.get_max_operations() == 0


@pytest.mark.parametrize(
    ("context", "works"),
    [(operation_quota(7), asks_isl), (ffi.lib._lock, uses_llvm)],
    ids=["isl", "LLVM"],
)
def test_a_fork_waits_for_other_threads(
    context: AbstractContextManager[object], works: Callable[[], bool]
) -> None:
    with held_by_a_thread(context) as end:
        timer = threading.Timer(0.2, end)
        start = time.monotonic()
        timer.start()
        assert holds_in_child(works)
        assert time.monotonic() - start > 0.15
    assert works()


def test_a_fork_inside_a_question() -> None:
    with operation_quota(1000, 5):
        assert holds_in_child(asks_isl)
        assert asks_isl()

    def ends_the_question() -> bool:
        start = time.monotonic()
        with deadline(5):
            child = os.fork()
            if not child:
                pass
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        os._exit(0 if time.monotonic() - start < 1 else 1)  # it waits for no timer that it lacks

    assert holds_in_child(ends_the_question)


def test_a_child_collects_garbage_while_its_parent_compiles() -> None:
    with held_by_a_thread(collection_paused()):
        assert not gc.isenabled()
        assert holds_in_child(gc.isenabled)
    with collection_paused():
        assert holds_in_child(lambda: not gc.isenabled())


def test_a_child_shares_its_cores_with_no_calls_of_its_parent() -> None:
    with held_by_a_thread(running_calls()):
        assert len(running_calls()) == 1
        assert holds_in_child(lambda: len(running_calls()) == 0)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="properties have no locks")
def test_a_property_that_another_thread_computes() -> None:
    lock = vars(Statement)["reads"].lock

    def is_free() -> bool:
        return bool(lock.acquire(blocking=False))

    with held_by_a_thread(lock):
        assert holds_in_child(is_free)
