"""A machine from what a person says: nothing (this host), a preset's name, or a file."""

from pathlib import Path

from polysched.errors import MachineError, suggestion
from polysched.machine import files
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.machine.presets import ALIASES, PRESETS

HOST = "host"


def as_machine(what: Machine | str | None = None) -> Machine:
    """The machine that a caller means: a description, or what :func:`load_machine` takes."""
    return what if isinstance(what, Machine) else load_machine(what)


def load_machine(text: str | None = None) -> Machine:
    """The machine that `text` means.

    None or ``"host"`` is the one this process runs on; text that ends in ``.toml`` is the path of
    a file; anything else is the name of a preset. Raises `MachineError`, with the nearest names,
    for a name that is none of them.
    """
    if text is None:
        return detect_host()
    if not isinstance(text, str):
        raise MachineError(
            f"{text!r} of type {type(text).__name__} means no machine; expected a preset's name, "
            "the path of a .toml file, or a Machine"
        )
    if text == HOST:
        return detect_host()
    if text.endswith(".toml"):
        return files.load(Path(text))
    name = ALIASES.get(text, text)
    if name not in PRESETS:
        known = (HOST, *PRESETS, *ALIASES)
        raise MachineError(
            f"unknown machine {text!r}{suggestion(text, known)} (or give the path of a .toml file)"
        )
    return PRESETS[name]
