"""Bits moved between elements of different widths: sub-byte integers packed and unpacked."""
