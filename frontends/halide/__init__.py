"""Halide-style frontend: Func, Var, RDom, ImageParam, and scheduling directives."""

from types import MappingProxyType
from typing import NoReturn

import polysched
from polysched.frontends.halide.domains import RDom
from polysched.frontends.halide.language import Func, ImageParam, Var, clamp
from polysched.frontends.halide.pipeline import Pipeline

_NAMES = MappingProxyType(
    {
        **dict.fromkeys(("UInt", "Int", "Float"), "a type such as ps.u8, ps.i32 or ps.f32"),
        "BoundaryConditions": "clamp(x, 0, image.width - 1) in the subscripts",
        "Buffer": "ImageParam, and a numpy array at the call",
        "Param": "ImageParam(ps.f32, 0, 'name'), read as name[()]",
        "max": "ps.maximum",
        "min": "ps.minimum",
        "sum": "an update such as f[x] += image[x + r.x], with r = RDom([(0, 3)], 'r')",
    }
)
"""Names of Halide's Python module, each with what to write instead."""


def __getattr__(name: str) -> NoReturn:
    ours = _NAMES.get(name)
    if ours is None and not name.startswith("_") and name in polysched.__all__:
        ours = f"ps.{name}, of polysched"
    hint = "" if ours is None else f"; write {ours}"
    raise AttributeError(f"module 'polysched.frontends.halide' has no attribute '{name}'{hint}")


__all__ = ["Func", "ImageParam", "Pipeline", "RDom", "Var", "clamp"]
