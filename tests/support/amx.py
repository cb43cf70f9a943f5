"""Run AMX code on processors without AMX: its instructions raise SIGILL and are emulated."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.runtime import jit

SOURCE = Path(__file__).with_name("amx_emulator.c")
KINDS = ("ldtilecfg", "sttilecfg", "tilerelease", "tilezero", "tileloadd", "tilestored", "tdp")


def host_with_amx() -> Machine:
    """This machine, with AMX; skips the test where AMX code can neither run nor be emulated."""
    host = detect_host()
    if not host.triple.startswith("x86_64") or "linux" not in host.triple or not host.has("fma"):
        pytest.skip("the emulator of AMX is for Linux on x86-64 with FMA")
    if host.has("amx-tile"):
        return host
    features = ["+amx-tile", "+amx-bf16", "+amx-int8"]
    kept = [item for item in host.features.split(",") if not item[1:].startswith("amx-")]
    return replace(host, features=",".join(kept + features), matrix_unit="amx")


@cache
def _emulator() -> ctypes.CDLL:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc, which compiles the emulator of AMX")
    library = Path(mkdtemp(prefix="polysched-amx-")) / "emulator.so"
    flags = "-O2 -mfma -ffp-contract=off -ftls-model=initial-exec -shared -fPIC".split()
    command = [compiler, *flags, str(SOURCE), "-o", str(library), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    found = ctypes.CDLL(str(library))
    found.count.restype = ctypes.c_int64
    shutil.rmtree(library.parent)
    return found


class Counts:
    """The numbers of emulated instructions; all 0 on a machine with AMX."""

    def __getitem__(self, kind: str) -> int:
        return int(_emulator().count(KINDS.index(kind)))


@contextmanager
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Machine, Counts]]:
    """Run the block with AMX, emulated if need be: yields the machine and the counts."""
    machine, library = host_with_amx(), _emulator()
    monkeypatch.setattr(jit, "detect_host", lambda: machine)
    library.install()
    try:
        yield machine, Counts()
    finally:
        library.uninstall()
