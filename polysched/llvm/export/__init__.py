"""Modules for programs in other languages: plain C interfaces, checks of the processor."""
