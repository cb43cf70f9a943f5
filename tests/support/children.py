"""Running a function in a forked child of this process."""

import os
import signal
import time
from collections.abc import Callable


def holds_in_child(condition: Callable[[], bool], patience: float = 60.0) -> bool:
    """Whether a condition holds in a forked child; False too if the child hangs or dies.

    Args:
        patience: seconds after which the child is ended.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if condition() else 1
        finally:
            os._exit(code)  # the child must not come back into the caller
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.002)
    os.kill(child, signal.SIGABRT)  # faulthandler, where it is on, says where the child hangs
    os.waitpid(child, 0)
    return False
