"""Kernels and schedules that ship with polysched, built from its public primitives only."""
