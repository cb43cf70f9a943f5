"""Kernel under test, with cached enumerations and reference results for the judges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from polysched.fuzz.judge.enumeration import Enumeration, enumerate_kernel
from polysched.fuzz.judge.instances import Sizes
from polysched.ir.core.kernel import Array, Kernel, Role
from polysched.ir.core.packing import byte_shape
from polysched.ir.semantics.memory import AnyArray, concrete_shape
from polysched.ir.semantics.points import at_parameters, points
from polysched.ir.semantics.reference import run_reference
from polysched.loops.verify.declared_flow import DeclaredFlow, declared_flow

LARGEST_SIZE = 4
"""Largest value of a parameter in an enumeration; the smallest is 0."""

WITNESS_INSTANCES = 4000
"""Most instances at the size of a witness to enumerate."""

MOST_ELEMENTS = 300_000
"""Most elements of all arrays together at a size to run."""

SPECIAL = 0.1
"""Fraction of random elements that are special: limits of the type, zeros, infinities, NaN."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Kernel under test; enumerations, runs and counts are cached by size."""

    kernel: Kernel
    _at: dict[tuple[int, ...], Enumeration | None] = field(default_factory=dict, repr=False)
    _runs: dict[tuple[int, ...], Run] = field(default_factory=dict, repr=False)
    _counts: dict[tuple[int, ...], int] = field(default_factory=dict, repr=False)

    @cached_property
    def small(self) -> Enumeration | None:
        """The enumeration at the smallest sizes; None if it is too large."""
        ranges = dict.fromkeys(self.kernel.parameters, (0, LARGEST_SIZE))
        return enumerate_kernel(self.kernel, ranges)

    def at(self, sizes: Sizes) -> Enumeration | None:
        """Return the enumeration at one size; None if it is too large."""
        key = tuple(sizes[name] for name in self.kernel.parameters)
        if key not in self._at:
            ranges = {name: (sizes[name], sizes[name]) for name in self.kernel.parameters}
            self._at[key] = enumerate_kernel(self.kernel, ranges, WITNESS_INSTANCES)
        return self._at[key]

    def run(self, sizes: Sizes) -> Run:
        """Run the reference at one size on random data."""
        key = tuple(sizes[name] for name in self.kernel.parameters)
        if key not in self._runs:
            self._runs[key] = _run(self.kernel, sizes)
        return self._runs[key]

    def affordable(self, values: Sequence[int], most: int, count: int) -> list[Sizes]:
        """Return up to ``count`` sizes with at most ``most`` instances, spread over ``values``.

        Two parameters take different values. A kernel without parameters has one size.
        """
        names = self.kernel.parameters
        every: list[Sizes] = [
            {name: values[place - 2 * number] for number, name in enumerate(names)}
            for place in range(len(values) if names else 1)
        ]
        fitting = [sizes for sizes in every if 0 <= self.count(sizes) <= most]
        places = np.linspace(0, len(fitting) - 1, min(count, len(fitting)))
        return [fitting[place] for place in sorted({round(float(place)) for place in places})]

    def count(self, sizes: Sizes) -> int:
        """Count the instances at one size; -1 if the size is excluded or its arrays too large."""
        key = tuple(sizes[name] for name in self.kernel.parameters)
        if key not in self._counts:
            excluded = at_parameters(self.kernel.context, sizes).is_empty()
            shapes = [concrete_shape(array.shape, sizes) for array in self.kernel.arrays.values()]
            excluded |= sum(map(math.prod, shapes)) > MOST_ELEMENTS
            self._counts[key] = -1 if excluded else instance_count(self.kernel, sizes)
        return self._counts[key]


@dataclass(frozen=True, eq=False)
class Run:
    """Reference run of a kernel at one size.

    Attributes:
        arguments: random data of all argument arrays.
        results: the output and inout arrays.
    """

    kernel: Kernel
    sizes: Sizes
    arguments: Mapping[str, AnyArray]
    results: Mapping[str, AnyArray]

    @cached_property
    def flow(self) -> DeclaredFlow:
        """The writer of the value that each instance reads."""
        return declared_flow(self.kernel, self.sizes)


def random_arguments(kernel: Kernel, sizes: Sizes) -> dict[str, AnyArray]:
    """Random data of all argument arrays."""
    generator = np.random.default_rng([*sizes.values()])
    return {
        name: _data(generator, array, sizes, signed=not kernel.fp_contract)
        for name, array in kernel.arrays.items()
        if array.role is not Role.TEMPORARY
    }


def _run(kernel: Kernel, sizes: Sizes) -> Run:
    arguments = random_arguments(kernel, sizes)
    return Run(kernel, sizes, arguments, run_reference(kernel, arguments, sizes))


def _data(generator: np.random.Generator, array: Array, sizes: Sizes, *, signed: bool) -> AnyArray:
    """Generate random data: integers with some limits of their type, packed arrays as random bytes.

    Floats lie between 0.5 and 1.5. ``signed`` floats lie between -1.5 and 1.5, with special values.
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
    with np.errstate(over="ignore"):
        drawn = generator.choice(np.array(special).astype(dtype), shape)
    return np.where(generator.random(shape) < SPECIAL, drawn, ordinary.astype(dtype))


def instance_count(kernel: Kernel, sizes: Sizes) -> int:
    """Count the statement instances of a kernel at one size."""
    return sum(len(points(statement.domain, sizes)) for statement in kernel.statements.values())
