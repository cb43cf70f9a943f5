"""Kernels written as MLIR's ``linalg.generic``: affine maps, iterator types, a body."""

from polysched.frontends.linalg.generic import generic

__all__ = ["generic"]
