"""Modules for programs in other languages: C interfaces and processor checks."""
