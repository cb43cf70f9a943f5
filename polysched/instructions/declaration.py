"""Declare a machine instruction by its meaning: the loop nest that it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any, TypeAlias

from polysched.errors import InstructionError, suggestion
from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.core.strides import concrete_strides
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Index, Load
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.ir.isl.extrema import greatest, least
from polysched.machine.x86_names import FEATURES

LARGEST_NEST = 2**16
"""Largest number of iterations of a nest; an AMX product of bytes has 16 x 16 x 64."""

Model: TypeAlias = Callable[[Any, Sequence[Mapping[str, Any]]], Any]
"""The result of a lane: of the target's element before, and of each term's operands by name."""


@dataclass(frozen=True, eq=False, repr=False)
class Instruction:
    """A machine instruction, declared by its meaning: the loop nest that it computes.

    ::

        build = ps.KernelBuilder("vpdpbusd")
        sums = build.inout("sums", ps.i32, (16,))
        a, b = build.input("a", ps.u8, (16, 4)), build.input("b", ps.i8, (16, 4))
        with build.loops(lane=16, term=4) as (lane, term):
            sums[lane] += ps.cast(a[lane, term], ps.i32) * ps.cast(b[lane, term], ps.i32)

        instruction = ps.Instruction(
            build.kernel(),
            intrinsic="llvm.x86.avx512.vpdpbusd.512",
            operands=("sums", "a", "b"),
            broadcast=("a", "b"),
            features=("avx512vnni",),
        )
        schedule.tensorize("nv", instruction)

    The loops of the nest whose index subscripts the target are *lane* dimensions; the others are
    *term* dimensions, over which the instruction reduces. An instruction with two lane dimensions
    computes a tile.

    Attributes:
        kernel: the meaning: one statement in loops from 0 to literal ends. The kernel's name is the
            name of the instruction. The layout of each input array is the layout that the
            instruction needs of the operand; a stride that is a parameter is free.
        intrinsic: the LLVM intrinsic. Each operand is a vector of all elements of the operand in
            memory order; the result is a vector of one element for each lane.
        operands: the operands of the intrinsic by their array names, in order. If the target is not
            among them, the result is added to the target.
        features: the processor features that the instruction needs, by LLVM's names.
        broadcast: operands whose elements may be the same for all lanes.
        reassociates: whether the instruction adds its terms in an order of its own. Then the
            statement must be a reduction with ``order="any"``. Sums of integers wrap, so that they
            have the same bits in any order.
        result: the element type of the intrinsic's result, if it is wider than the target's. The
            result is then truncated.
        model: computes a lane exactly as the instruction does, from the target's element before
            and the operands of each term. None if that is the statement, term by term.

    Raises:
        InstructionError: the declaration is malformed.
    """

    kernel: Kernel
    intrinsic: str
    operands: tuple[str, ...]
    features: tuple[str, ...] = ()
    broadcast: tuple[str, ...] = ()
    reassociates: bool = False
    model: Model | None = None
    result: DType | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InstructionError(
                f"Instruction(...) of a {type(self.kernel).__name__}; expected a Kernel, the loop "
                "nest that the instruction computes"
            )
        for field in ("operands", "features", "broadcast"):
            names = getattr(self, field)
            if isinstance(names, str) or not all(isinstance(name, str) for name in names):
                raise self._error(f"{field}={names!r}; expected a tuple of names")
            object.__setattr__(self, field, tuple(names))
        self._require_nest()
        self._require_operands()
        for feature in self.features:
            if feature not in FEATURES:
                raise self._error(
                    f"no processor feature is called '{feature}'{suggestion(feature, FEATURES)}"
                )
        if not isinstance(self.intrinsic, str) or not self.intrinsic.startswith("llvm."):
            raise self._error(
                f"intrinsic={self.intrinsic!r}; expected the name of an LLVM intrinsic, such as "
                "'llvm.x86.avx512.vpdpbusd.512'"
            )

    def __repr__(self) -> str:
        nest = ", ".join(f"{name} in {extent}" for name, extent in self.extents.items())
        return f"<Instruction {self.name}: {nest}>"

    @property
    def name(self) -> str:
        """The name of the instruction."""
        return self.kernel.name

    @cached_property
    def statement(self) -> Statement:
        """The statement of the nest."""
        (statement,) = self.kernel.statements.values()
        return statement

    @cached_property
    def extents(self) -> Mapping[str, int]:
        """The trip count of each dimension, outermost first."""
        domain, names = self.statement.domain, self.statement.indices
        lasts = [greatest(domain, position) for position in range(len(names))]
        return MappingProxyType(
            {name: 0 if last is None else last + 1 for name, last in zip(names, lasts, strict=True)}
        )

    @cached_property
    def lane_dimensions(self) -> tuple[str, ...]:
        """The dimensions that subscript the target."""
        forms = [linear_form(subscript, {}) for subscript in self.statement.target.subscripts]
        return tuple(name for name in self.extents if any(form.uses({name}) for form in forms))

    @cached_property
    def term_dimensions(self) -> tuple[str, ...]:
        """The dimensions over which the instruction reduces."""
        return tuple(name for name in self.extents if name not in self.lane_dimensions)

    @property
    def is_tile(self) -> bool:
        """Whether the result is a tile: rows of lanes."""
        return len(self.lane_dimensions) > 1

    @property
    def lanes(self) -> int:
        """The number of elements of the result."""
        return prod(self.extents[name] for name in self.lane_dimensions)

    @property
    def terms(self) -> int:
        """The number of terms that the instruction adds to each lane."""
        return prod(self.extents[name] for name in self.term_dimensions)

    @property
    def updates(self) -> bool:
        """Whether the statement reads the element that it writes."""
        return any(load.array == self.statement.target.array for load in self.loads)

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """The loads of the statement's value."""
        return loads(self.statement.value)

    def strides(self, load: Load) -> Mapping[str, int | None]:
        """The distance in memory between consecutive iterations of each dimension, in elements.

        None where the distance is free.
        """
        array = self.kernel.arrays[load.array]
        forms = [linear_form(subscript, {}) for subscript in load.subscripts]
        if array.strides is None:
            shape = [linear_form(extent, {}).constant for extent in array.shape]
            each: list[int | None] = list(concrete_strides(array, shape, {}))
        else:
            steps = [linear_form(stride, {}) for stride in array.strides]
            each = [step.constant if step.is_constant else None for step in steps]
        strides: dict[str, int | None] = {}
        for name in self.extents:
            total: int | None = 0
            for form, stride in zip(forms, each, strict=True):
                _, coefficient = form.without(name)
                if coefficient:
                    total = (
                        None if total is None or stride is None else total + coefficient * stride
                    )
            strides[name] = total
        return strides

    def lane_width(self, operand: str) -> int:
        """The number of consecutive elements of an operand that one lane reads."""
        (load,) = (load for load in self.loads if load.array == operand)
        return self.strides(load)[self.lane_dimensions[-1]] or 0

    def _require_nest(self) -> None:
        kernel = self.kernel
        if len(kernel.statements) != 1:
            names = ", ".join(kernel.statements) or "none"
            raise self._error(f"its kernel has the statements {names}; expected one statement")
        domain, target = self.statement.domain, self.statement.target
        if not self.extents:
            raise self._error("its kernel has no loops; expected a loop over the lanes")
        is_box = domain.is_box() and all(
            least(domain, position) == 0 for position in range(len(self.extents))
        )
        if not is_box or not all(extent >= 1 for extent in self.extents.values()):
            raise self._error("its loops must run from 0 to literal ends, without conditions")
        if prod(self.extents.values()) > LARGEST_NEST:
            raise self._error(
                f"its nest has {prod(self.extents.values())} iterations; expected at most "
                f"{LARGEST_NEST}"
            )
        indices = [
            subscript.name for subscript in target.subscripts if isinstance(subscript, Index)
        ]
        if not indices or len({*indices}) != len(target.subscripts):
            raise self._error(
                f"its target is {target}; expected a different loop index in each dimension"
            )
        own = [load for load in self.loads if load.array == target.array]
        if len(own) > 1 or any(load.subscripts != target.subscripts for load in own):
            raise self._error(f"its statement must read of '{target.array}' only {target}, once")
        if self.term_dimensions and not own:
            raise self._error(
                f"each iteration of '{self.term_dimensions[0]}' overwrites {target}; expected a "
                "sum such as sums[lane] += a[lane, term]"
            )

    def _require_operands(self) -> None:
        target = self.statement.target.array
        inputs = [load.array for load in self.loads if load.array != target]
        for name in inputs:
            if inputs.count(name) > 1:
                raise self._error(f"its statement reads array '{name}' twice; expected once")
        for load in self.loads:
            if not all(linear_form(subscript, {}).is_affine for subscript in load.subscripts):
                raise self._error(f"the subscripts of '{load.array}' are not affine")
        required = {*inputs, *({target} if target in self.operands else ())}
        if sorted(self.operands) != sorted(required):
            raise self._error(
                f"operands={self.operands}; expected each array that the statement reads, once: "
                f"{', '.join(dict.fromkeys([target, *inputs]))} (the target '{target}' may be left "
                "out)"
            )
        reduction = self.statement.reduction
        is_sum = reduction is not None and reduction.operator is Operator.ADD
        if self.updates and target not in self.operands and not is_sum:
            raise self._error(
                f"'{target}' is not among the operands, so the result is added to it; expected a "
                f"statement that adds to '{target}'"
            )
        for name in self.broadcast:
            if name not in inputs:
                raise self._error(
                    f"broadcast names '{name}'{suggestion(name, inputs)}; expected an input array"
                )

    def _error(self, reason: str) -> InstructionError:
        return InstructionError(f"instruction '{self.kernel.name}': {reason}")
