"""Calls run specialized code at once, as tests of its dispatch expect."""

from tests.support.specialized import specialized_at_once

__all__ = ["specialized_at_once"]
