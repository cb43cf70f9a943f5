"""Machines whose code this host can run; tests of other machines are skipped."""

from __future__ import annotations

import pytest

from polysched.errors import MachineError
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.machine.load import load_machine
from polysched.runtime.jit import require_runnable


def runnable(name: str) -> Machine:
    """Load a machine; skip the test if this host lacks some of its instructions."""
    machine = load_machine(name)
    try:
        require_runnable(machine, detect_host())
    except MachineError as error:
        pytest.skip(str(error))
    return machine
