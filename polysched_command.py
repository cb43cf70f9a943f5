"""Where the command ``polysched`` starts: outside the package, whose import takes most of its time.

Whoever presses Ctrl-C meanwhile wants the command to end, as it does afterwards, not a traceback.
"""

import signal
from importlib import import_module


def main() -> None:
    """Import the command line, which an interrupt ends at once, and run it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # else it is ignored, as in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    command = import_module("polysched.cli.main").main
    signal.signal(signal.SIGINT, handler)
    command()
