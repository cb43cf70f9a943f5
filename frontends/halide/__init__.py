"""Halide-style frontend: Func, Var, RDom, ImageParam, and scheduling directives."""

from polysched.frontends.halide.domains import RDom
from polysched.frontends.halide.language import Func, ImageParam, Var, clamp
from polysched.frontends.halide.pipeline import Pipeline

__all__ = ["Func", "ImageParam", "Pipeline", "RDom", "Var", "clamp"]
