import gc
import threading

import pytest

from polysched.runtime.collection import collection_paused


def test_the_collector_rests_inside_only() -> None:
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_starts_it_again() -> None:
    with pytest.raises(ValueError, match="here"), collection_paused():
        raise ValueError("here")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_whichever_thread_ends_last_it_is_at_work_again() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def compile_beside() -> None:
        with collection_paused():
            begun.set()
            may_end.wait()

    for first_ends_first in (True, False):
        beside = threading.Thread(target=compile_beside)
        begun.clear()
        may_end.clear()
        with collection_paused():
            beside.start()
            begun.wait()
            if not first_ends_first:
                may_end.set()
                beside.join()
        may_end.set()
        beside.join()
        assert gc.isenabled()
