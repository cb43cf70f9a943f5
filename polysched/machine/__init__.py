"""Machines: hardware description, detection, presets, files and measured peak."""

from polysched.machine.description import Cache, Machine
from polysched.machine.load import load_machine

__all__ = ["Cache", "Machine", "load_machine"]
