"""A kernel with everything that judging its schedules needs, found once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from polysched.fuzz.enumeration import Enumeration, enumerate_kernel
from polysched.fuzz.instances import Sizes
from polysched.ir.kernel import Array, Kernel, Role
from polysched.ir.memory import AnyArray, concrete_shape
from polysched.ir.packing import byte_shape
from polysched.ir.points import at_parameters, points
from polysched.ir.reference import run_reference
from polysched.loops.declared_flow import DeclaredFlow, declared_flow

LARGEST_SIZE = 4
"""Enumerated sizes reach from 0 to this."""

WITNESS_INSTANCES = 4000
"""A witness at a size with more instances is not looked at."""

MOST_ELEMENTS = 300_000
"""Nothing runs at a size with more elements in all arrays."""

SPECIAL = 0.1
"""The share of elements that are the ends of their type, zeros, infinities, NaN."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A kernel; what is found out about it is remembered."""

    kernel: Kernel
    _at: dict[tuple[int, ...], Enumeration | None] = field(default_factory=dict, repr=False)
    _runs: dict[tuple[int, ...], Run] = field(default_factory=dict, repr=False)
    _counts: dict[tuple[int, ...], int] = field(default_factory=dict, repr=False)

    @cached_property
    def small(self) -> Enumeration | None:
        """Its instances at the smallest sizes; None if there are too many."""
        ranges = dict.fromkeys(self.kernel.parameters, (0, LARGEST_SIZE))
        return enumerate_kernel(self.kernel, ranges)

    def at(self, sizes: Sizes) -> Enumeration | None:
        """Its instances at one size; None if there are too many."""
        key = tuple(sizes[name] for name in self.kernel.parameters)
        if key not in self._at:
            ranges = {name: (sizes[name], sizes[name]) for name in self.kernel.parameters}
            self._at[key] = enumerate_kernel(self.kernel, ranges, WITNESS_INSTANCES)
        return self._at[key]

    def run(self, sizes: Sizes) -> Run:
        """Its results at one size on random data."""
        key = tuple(sizes[name] for name in self.kernel.parameters)
        if key not in self._runs:
            self._runs[key] = _run(self.kernel, sizes)
        return self._runs[key]

    def affordable(self, values: Sequence[int], most: int, count: int) -> list[Sizes]:
        """Up to ``count`` sizes with at most so many instances each, spread over ``values``.

        Two parameters take different values; without any there is one size.
        """
        names = self.kernel.parameters
        every: list[Sizes] = [
            {name: values[place - 2 * number] for number, name in enumerate(names)}
            for place in range(len(values) if names else 1)
        ]
        fitting = [sizes for sizes in every if 0 <= self.count(sizes) <= most]
        places = np.linspace(0, len(fitting) - 1, min(count, len(fitting)))
        return [fitting[place] for place in sorted({round(float(one)) for one in places})]

    def count(self, sizes: Sizes) -> int:
        """The instances at one size; -1 if the context excludes it, or it is too large."""
        key = tuple(sizes[name] for name in self.kernel.parameters)
        if key not in self._counts:
            excluded = at_parameters(self.kernel.context, sizes).is_empty()
            shapes = [concrete_shape(array.shape, sizes) for array in self.kernel.arrays.values()]
            excluded |= sum(map(math.prod, shapes)) > MOST_ELEMENTS
            self._counts[key] = -1 if excluded else instance_count(self.kernel, sizes)
        return self._counts[key]


@dataclass(frozen=True, eq=False)
class Run:
    """The kernel at one size, run as declared.

    Attributes:
        arguments: random data of every array that the caller has.
        results: the output and inout arrays.
    """

    kernel: Kernel
    sizes: Sizes
    arguments: Mapping[str, AnyArray]
    results: Mapping[str, AnyArray]

    @cached_property
    def flow(self) -> DeclaredFlow:
        """Who wrote what each instance reads."""
        return declared_flow(self.kernel, self.sizes)


def _run(kernel: Kernel, sizes: Sizes) -> Run:
    generator = np.random.default_rng([*sizes.values()])
    arguments = {
        name: _data(generator, array, sizes, signed=not kernel.fp_contract)
        for name, array in kernel.arrays.items()
        if array.role is not Role.TEMPORARY
    }
    return Run(kernel, sizes, arguments, run_reference(kernel, arguments, sizes))


def _data(generator: np.random.Generator, array: Array, sizes: Sizes, *, signed: bool) -> AnyArray:
    """Any integers, some of them the ends of their type; packed ones as a buffer of any bits.

    Floats lie between a half and three halves; ``signed`` ones may be anything.
    """
    shape, dtype = concrete_shape(array.shape, sizes), array.dtype.numpy()
    if array.rows is not None:
        buffer = byte_shape(array.dtype, shape, array.rows)
        return generator.integers(0, 256, buffer, dtype=np.uint8)
    if array.dtype.is_float:
        ordinary: AnyArray = generator.uniform(-1.5 if signed else 0.5, 1.5, shape)
        special = [0.0, -0.0, np.inf, np.nan, 1e30, 300.0] if signed else [1.0]
    else:
        ordinary = generator.integers(-99, 99, shape)
        special = [array.dtype.lowest, array.dtype.highest, 0]
    drawn = generator.choice(np.array(special, dtype), shape)
    return np.where(generator.random(shape) < SPECIAL, drawn, ordinary.astype(dtype))


def instance_count(kernel: Kernel, sizes: Sizes) -> int:
    """How many statement instances there are."""
    return sum(len(points(one.domain, sizes)) for one in kernel.statements.values())
