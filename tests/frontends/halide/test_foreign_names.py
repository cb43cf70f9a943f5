"""Names of Halide that the frontend lacks."""

import pytest

from polysched.frontends import halide
from polysched.frontends.halide import Func


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("realize", "; write Pipeline(func).realize(extents)"),
        ("skew", "; write Pipeline(func).schedule(extents).skew(...)"),
        ("store_at", "; write promote(array, at) of Pipeline(func).schedule(extents)"),
        ("compile_to_file", "; write ps.export(schedule, path)"),
        ("zzz", ""),
    ],
)
def test_a_func(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(Func("f"), name)
    assert str(raised.value) == f"a Func has no '{name}'{hint}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cast", "; write ps.cast, of polysched"),
        ("UInt", "; write a type such as ps.u8"),
        ("zzz", ""),
    ],
)
def test_the_module(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(halide, name)
    start = f"module 'polysched.frontends.halide' has no attribute '{name}'{hint}"
    assert str(raised.value).startswith(start)
