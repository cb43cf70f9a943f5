"""Kernel builder: declare a kernel as a nest of Python loops."""
