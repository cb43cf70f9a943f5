"""Calls of compiled C functions: their arguments, and what differs between two results."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.campaign.c_text import Function
from tests.campaign.drawing import Affine, Dice
from tests.campaign.kernels import At, Outcome
from tests.campaign.memory import Guarded

_NUMPY: dict[str, Any] = {
    "int": "i4", "unsigned": "u4", "short": "i2", "unsigned short": "u2", "signed char": "i1",
    "uint8_t": "u1", "long": "i8", "unsigned long": "u8", "int64_t": "i8", "int16_t": "i2",
    "uint32_t": "u4", "long long": "i8", "char": "i1", "int8_t": "i1", "size_t": "u8",
    "float": "f4", "double": "f8", "real": "f8", "_Bool": "?",
    "rec": np.dtype(
        [("d", "f8"), ("f", "f4"), ("p", "f4", 2), ("k", "i4"), ("c", "i1"), ("u", "u4")],
        align=True,
    ),
}  # fmt: skip
_SIZES = (0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 19)
_BYTES = 1 << 20


def differs(
    function: Function,
    symbol: str,
    library: ctypes.CDLL,
    references: list[ctypes.CDLL],
    seed: int,
    outcome: Outcome,
    at: At,
) -> str | None:
    dice = Dice(("c data", seed, function.name))
    for round_ in range(3):
        sizes = {
            one.name: dice.pick(_SIZES) if round_ else dice.pick((0, 1, 2))
            for one in function.arguments
            if one.role == "size"
        }
        for name, least in function.widths:
            sizes[name] = value_at(least, sizes) + dice.pick((0, 0, 1, 3))
        call = Call(function, sizes, dice)
        if call.is_large:
            continue
        at(f"run {symbol} at {sizes}")
        expected, again = (call.run(getattr(one, function.name)) for one in references)
        if not _same(expected, again):
            outcome.counts["gcc differs from itself"] += 1
            return None
        outcome.counts["runs"] += 1
        found = call.run(getattr(library, symbol))
        for name, values in expected.items():
            if not _same({name: values}, {name: found[name]}):
                return f"{name} is\n{found[name]}, expected\n{values}\nat {sizes}"
        if found.get("intact") is False:
            return f"bytes beside the arrays were written at {sizes}"
    return None


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    for name, values in one.items():
        left, right = np.asarray(values), np.asarray(other[name])
        if left.dtype.names:
            members = left.dtype.names
            if not _same({m: left[m] for m in members}, {m: right[m] for m in members}):
                return False
            continue
        if left.dtype.kind == "f":
            left, right = (np.where(np.isnan(v), np.nan, v) for v in (left, right))
        if left.tobytes() != right.tobytes():
            return False
    return True


class Call:
    """Arguments of one call, the same bytes for everyone who is called."""

    def __init__(self, function: Function, sizes: Mapping[str, int], dice: Dice) -> None:
        self.function, self.sizes = function, sizes
        self.numbers: dict[str, Any] = {}
        self.data: dict[str, Any] = {}
        self.at_end = dice.chance(0.7)
        self.is_large = False
        source = np.random.default_rng(dice.between(0, 1 << 30))
        for one in function.arguments:
            dtype = np.dtype(_NUMPY[one.type])
            if one.role == "size":
                continue
            if one.role == "number":
                self.numbers[one.name] = _drawn(source, dtype, ())[()]
                continue
            shape = tuple(value_at(extent, sizes) for extent in one.extents)
            if np.prod(shape, dtype=np.int64) * dtype.itemsize > _BYTES:
                self.is_large = True
                return
            self.data[one.name] = _drawn(source, dtype, shape)

    def run(self, code: Any) -> dict[str, Any]:
        """What the arrays hold afterwards, and what is returned."""
        guards, passed = {}, []
        for one in self.function.arguments:
            dtype = np.dtype(_NUMPY[one.type])
            ctype = np.ctypeslib.as_ctypes_type(dtype)
            if one.role == "size":
                passed.append(ctype(self.sizes[one.name]))
            elif one.role == "number":
                passed.append(ctype(self.numbers[one.name].item()))
            else:
                data = self.data[one.name]
                guards[one.name] = guard = Guarded(data.nbytes, at_end=self.at_end)
                guard.bytes[:] = np.frombuffer(data.tobytes(), np.uint8)
                passed.append(ctypes.c_void_p(guard.bytes.ctypes.data))
        returns = self.function.returns
        code.restype = (
            None if returns == "void" else np.ctypeslib.as_ctypes_type(np.dtype(_NUMPY[returns]))
        )
        result = code(*passed)
        found: dict[str, Any] = {
            name: guard.bytes.copy().view(self.data[name].dtype) for name, guard in guards.items()
        }
        if result is not None:
            found["the result"] = np.array([result], _NUMPY[returns])
        intact = all(guard.is_intact() for guard in guards.values())
        for guard in guards.values():
            guard.close()
        return {**found, "intact": intact}


def value_at(form: Affine, sizes: Mapping[str, int]) -> int:
    return sum(c * (sizes[name] if name else 1) for name, c in form.items())


def _drawn(source: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    if dtype.names:
        drawn = np.zeros(shape, dtype)
        for member in dtype.names:
            kind, inner = dtype[member].base, dtype[member].shape
            drawn[member] = _drawn(source, kind, (*shape, *inner))
        return drawn
    if dtype.kind == "f":
        wide = source.integers(0, 3)
        if wide == 0:
            return np.asarray(source.integers(-4, 5, shape), dtype)
        return np.asarray(source.standard_normal(shape) * (1, 3, 1e4)[wide], dtype)
    if dtype.kind == "b":
        return source.integers(0, 2, shape).astype(dtype)
    info = np.iinfo(dtype)
    if source.integers(0, 2):
        return source.integers(max(info.min, -9), 9, shape, dtype)
    return source.integers(info.min, info.max, shape, dtype, endpoint=True)
