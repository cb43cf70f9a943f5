"""Kernels in the form of MLIR's ``linalg.generic``: affine maps, iterator types and a body."""

from polysched.frontends.linalg.generic import generic

__all__ = ["generic"]
