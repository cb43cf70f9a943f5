"""Tests of this folder share compiled code: they call the same functions of the library."""

from tests.support.shared_code import shared_code

__all__ = ["shared_code"]
