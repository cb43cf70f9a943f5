"""Machines: what the hardware offers, how it is found out, how it is measured."""

from polysched.machine.description import Cache, Machine
from polysched.machine.load import load_machine

__all__ = ["Cache", "Machine", "load_machine"]
