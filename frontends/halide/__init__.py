"""Algorithms and schedules as for Halide: Func, Var, RDom, and directives by their names."""

from polysched.frontends.halide.domains import RDom
from polysched.frontends.halide.language import Func, ImageParam, Var, clamp
from polysched.frontends.halide.pipeline import Pipeline

__all__ = ["Func", "ImageParam", "Pipeline", "RDom", "Var", "clamp"]
