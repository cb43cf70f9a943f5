"""Machine lookup: the host, a preset by name, or a description file."""

from pathlib import Path

from polysched.errors import MachineError, suggestion
from polysched.machine import files
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.machine.presets import ALIASES, PRESETS

HOST = "host"


def as_machine(machine: Machine | str | None = None) -> Machine:
    """Return a machine description as it is, and load anything else by :func:`load_machine`."""
    return machine if isinstance(machine, Machine) else load_machine(machine)


def load_machine(text: str | None = None) -> Machine:
    """Return the host, a preset, or the machine of a description file.

    None and ``"host"`` mean the machine this process runs on. Text that ends in ``.toml`` is the
    path of a file. Any other text is the name of a preset. Raises `MachineError`, with the nearest
    names, for an unknown name.
    """
    if text is None:
        return detect_host()
    if not isinstance(text, str):
        raise MachineError(
            f"{text!r} of type {type(text).__name__} is not a machine; expected a preset's name, "
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
