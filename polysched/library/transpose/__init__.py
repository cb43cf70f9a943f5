"""Transposed copies of arrays: whole tiles through registers, whole cache lines to memory."""
