"""Packing and unpacking of sub-byte integers."""
