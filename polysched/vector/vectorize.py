"""Make the vector program of a loop program: classify every access and every mask.

This is the only step between the loops and LLVM that uses what is known of the loops' variables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from polysched.codegen.dot_products import DotProduct as JoinedTerms
from polysched.codegen.transposition import Transposition
from polysched.errors import LoweringError
from polysched.ir.cache_lines import line_offsets
from polysched.ir.dtypes import DType, NumberKind, boolean, i32
from polysched.ir.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
)
from polysched.ir.kernel import Access as ElementAccess
from polysched.ir.kernel import Array, Role
from polysched.ir.linear import UNBOUNDED, Intervals, LinearForm, linear_form
from polysched.ir.packing import Rows
from polysched.ir.traversal import transform
from polysched.ir.tree import LoopKind
from polysched.loops import nodes as loop
from polysched.machine.description import Machine
from polysched.vector import ir
from polysched.vector import values as vector
from polysched.vector.classify import (
    CACHE_LINE,
    Offset,
    element_offset,
    extent,
    lane_distances,
    lanes_where,
    literal_lanes,
    literal_strides,
    surely_runs,
)
from polysched.vector.frames import kernel_frame, literal_elements, region_frame
from polysched.vector.latency import Contraction, contraction
from polysched.vector.nesting import require_shallow
from polysched.vector.streams import LEAST_BYTES, require_streams

_Lanes: TypeAlias = vector.Lanes | None


def vectorize(program: loop.LoopProgram, machine: Machine) -> ir.VectorProgram:
    """Make vector statements of vector loops, with classified accesses and masks.

    Raises:
        LoweringError: a vector loop holds more than one assignment or writes one element in all
            lanes, loops are nested too deep, or an array cannot be streamed.
    """
    require_shallow(program)
    lowering = _Vectorizer(program, machine)
    made = ir.VectorProgram(
        program.name,
        program.parameters,
        program.context,
        program.arrays,
        lowering.layouts,
        lowering.frame,
        lowering.node(program.body),
    )
    require_streams(made)
    return made


class _Vectorizer:
    """One walk over a program.

    Attributes:
        known: intervals of the variables in scope.
        frame: of the function that the walk is in.
        lane: the variable of the vector loop that the walk is in.
    """

    def __init__(self, program: loop.LoopProgram, machine: Machine) -> None:
        self.program = program
        self.arrays = program.arrays
        self.registers = frozenset(program.registers)
        self.known: Intervals = program.ranges
        self.lane: str | None = None
        self.in_region = False
        self.fp_contract: Contraction = contraction(program, self.registers, machine.fma_latency)
        self.strides = {
            name: literal_strides(array, program.ranges)
            for name, array in program.arrays.items()
            if name not in self.registers
        }
        self.layouts = {name: self._layout(self.arrays[name]) for name in self.strides}
        self.frame = kernel_frame(program, self.layouts)

    def _layout(self, array: Array) -> ir.Layout:
        strides = array.strides
        return ir.Layout(
            tuple(map(self.index, array.stored_shape)),
            None if strides is None else tuple(map(self.index, strides)),
        )

    # -- control flow ----------------------------------------------------------------------------

    def node(self, node: loop.LoopNode) -> ir.Node:
        """A node and all below."""
        match node:
            case Transposition():
                return ir.Transpose(node.rows, node.columns, node.strategy, node.interleaving)
            case loop.Block(children=children):
                return _sequence([self.node(child) for child in children])
            case loop.Allocate(body=body):
                return self.node(body)
            case loop.If(condition=condition, then=then, otherwise=otherwise):
                other = None if otherwise is None else self.node(otherwise)
                return ir.Branch(self.value(condition, None), self.node(then), other)
            case loop.For(kind=LoopKind.VECTOR):
                return self._vector(node)
            case loop.For():
                return self._loop(node)
            case loop.Assign():
                return self._assign(node, None)

    def _loop(self, node: loop.For) -> ir.Loop:
        frame, known = self.frame, self.known
        runs = surely_runs(node, known)
        lower, upper = self.index(node.lower), self.index(node.upper)
        region = None
        if node.kind is LoopKind.PARALLEL and not self.in_region:
            region = region_frame(self.program, self.layouts, frame, node)
            self.frame = region
            self.in_region = True
        reached = loop.variable_interval(node.lower, node.upper, known)
        self.known = {**known, node.variable: reached}
        body = [line for request in node.prefetches for line in self._prefetches(request)]
        body.append(self.node(node.body))
        self.frame, self.known = frame, known
        if region is not None:
            self.in_region = False
        return ir.Loop(
            node.variable, node.loop, lower, upper, node.step, runs, _sequence(body), region
        )

    def _prefetches(self, request: loop.Prefetch) -> list[ir.Node]:
        """A prefetch of each cache line of a box."""
        array = self.arrays[request.array]
        made: list[ir.Node] = []
        for place in line_offsets(request.extents, array.dtype.bytes):
            at = [start + offset for start, offset in zip(request.start, place, strict=True)]
            offset = element_offset(self.strides[array.name], at, None)
            made.append(ir.Prefetch(self._address(array.name, offset), request.level))
        return made

    # -- statements ------------------------------------------------------------------------------

    def _vector(self, node: loop.For) -> ir.Node:
        """One assignment in all lanes."""
        condition, body = _mask_condition(node)
        active = self._active(node, condition)
        if active is None:
            return ir.Sequence(())
        only = None if condition is not None else self._single_lane(node, active)
        if only is not None and self.registers.isdisjoint(body.arrays):
            return self._assign(_at(body, node.variable, only), None)
        some = not isinstance(active, vector.Range | vector.Predicate)
        some = some or (condition is None and surely_runs(node, self.known))
        self.lane = node.variable
        made = self._assign(body, vector.Lanes(node.lanes, active, some))
        self.lane = None
        return made

    def _single_lane(self, node: loop.For, active: vector.Active) -> Expression | None:
        """The only lane that runs; None if several lanes run, or perhaps none."""
        if isinstance(active, vector.Range):
            length = extent(node, self.known)
            return node.lower if length.is_constant and length.constant == 1 else None
        is_one = isinstance(active, vector.Only) and len(active.lanes) == 1
        return Constant(active.lanes[0]) if is_one else None

    def _active(self, node: loop.For, condition: Expression | None) -> vector.Active | None:
        """The lanes that run; None if no lane runs."""
        literal = literal_lanes(node, self.known)
        lanes: tuple[int, ...] | None = None if literal is None else tuple(literal)
        if lanes is not None and condition is not None:
            lanes = lanes_where(condition, lanes, node.variable, self.known)
        if lanes is not None:
            if len(lanes) == node.lanes:
                return vector.All()
            return vector.Only(lanes) if lanes else None
        within: vector.All | vector.Only | vector.Range
        if literal is None:
            lower, upper = self.index(node.lower), self.index(node.upper)
            is_first = not lower.terms and lower.constant <= 0
            within = vector.Range(None if is_first else lower, upper, node.step)
        else:
            within = vector.All() if len(literal) == node.lanes else vector.Only(tuple(literal))
        if condition is None:
            assert not isinstance(within, vector.All | vector.Only)
            return within
        self.lane = node.variable
        holds = self.value(condition, vector.Lanes(node.lanes, vector.All()))
        self.lane = None
        return vector.Predicate(holds, within)

    def _assign(self, node: loop.Assign, lanes: _Lanes) -> ir.Node:
        if isinstance(node, JoinedTerms):
            return self._dot_product(node, lanes)
        value = self.value(node.value, lanes)
        return ir.Assign(node.statement, self._target(node, lanes), value, lanes)

    def _target(self, node: loop.Assign, lanes: _Lanes) -> ir.Target:
        target, array = node.target, self.arrays[node.target.array]
        if array.name in self.registers:
            return ir.Keep(self._register(array.name, target.subscripts, array.dtype))
        access = self._access(array.name, target.subscripts, lanes)
        if lanes is None:
            return ir.Store(access)
        is_all = isinstance(lanes.active, vector.All)
        if access.movement is vector.Uniform.BROADCAST and is_all:
            raise LoweringError(
                f"statement '{node.statement}': all lanes of vector loop '{self.lane}' write the "
                f"one element {target}; vectorize another loop"
            )
        if access.movement is vector.Uniform.BROADCAST:
            # In a legal schedule at most one lane is active.
            return ir.Store(self._gather(array.name, target.subscripts, lanes))
        is_contiguous = access.movement is vector.Uniform.CONTIGUOUS and not array.is_packed
        if array.streamed and is_contiguous and is_all and can_stream(lanes.count, array):
            return ir.Stream(access)
        return ir.Store(access)

    def _dot_product(self, node: JoinedTerms, lanes: _Lanes) -> ir.DotProduct:
        assert lanes is not None
        target, terms = node.target, node.terms
        factors = []
        for load in node.factors.loads:
            array = self.arrays[load.array]
            offset = element_offset(self.strides[array.name], load.subscripts, self.lane)
            assert offset.lane in (0, terms)
            uniform = vector.Uniform.CONTIGUOUS if offset.lane else vector.Uniform.BROADCAST
            access = self._whole(array, offset, uniform, terms * lanes.count)
            factors.append(vector.Load(access, array.dtype))
        sums = self.value(Load(target.array, target.subscripts, i32), lanes)
        return ir.DotProduct(
            node.statement, self._target(node, lanes), sums, tuple(factors), terms, lanes
        )

    # -- values ----------------------------------------------------------------------------------

    def index(self, expression: Expression) -> vector.Sum:
        """An integer expression over loop variables and parameters."""
        return self._sum(linear_form(expression, self.known))

    def _sum(self, form: LinearForm) -> vector.Sum:
        terms = [(self.value(atom, None), coefficient) for atom, coefficient in form.terms]
        return vector.Sum(tuple(terms), form.constant)

    def value(self, expression: Expression, lanes: _Lanes) -> vector.Value:
        """An expression in the lanes of a statement."""
        match expression:
            case Constant():
                return expression
            case Index(name=name):
                return vector.Lane() if lanes is not None and name == self.lane else expression
            case Parameter():
                return expression
            case Load(array=array) if array in self.registers:
                return self._register(array, expression.subscripts, expression.type)
            case Load(array=array, subscripts=subscripts):
                dtype = self.arrays[array].dtype
                access = self._access(array, subscripts, lanes)
                if not self.arrays[array].is_packed:
                    return vector.Load(access, dtype)
                return vector.Convert(
                    vector.Unpack(access, _lane_type(dtype.container.bits)), dtype
                )
            case Cast(operand=operand, type=dtype):
                return vector.Convert(self._converted(operand, dtype, lanes), dtype)
            case Operation(operator=operator, operands=operands):
                values = tuple([self.value(operand, lanes) for operand in operands])
                contract = self.fp_contract.joins(expression)
                return vector.Apply(operator, values, expression.dtype, contract)
        raise LoweringError(f"expression {expression} has no machine code")

    def _converted(self, operand: Expression, target: DType, lanes: _Lanes) -> vector.Value:
        """The operand of a conversion; packed elements are unpacked to the bits of the result."""
        if not isinstance(operand, Load) or not self.arrays[operand.array].is_packed:
            return self.value(operand, lanes)
        wanted = min(target.container.bits, 32) if target != boolean else 8
        bits = max(operand.type.container.bits, wanted)
        access = self._access(operand.array, operand.subscripts, lanes)
        return vector.Unpack(access, _lane_type(bits))

    def _register(
        self, name: str, subscripts: tuple[Expression, ...], dtype: DType
    ) -> vector.Register:
        shape, number = self.arrays[name].shape, 0
        if len(shape) == 2:
            assert isinstance(subscripts[0], Constant)
            number = int(subscripts[0].value)
        return vector.Register(name, number, dtype, bool(shape))

    # -- accesses --------------------------------------------------------------------------------

    def _access(
        self, name: str, subscripts: tuple[Expression, ...], lanes: _Lanes
    ) -> vector.Access:
        """The access of a statement to an array in memory."""
        array, lane = self.arrays[name], None if lanes is None else self.lane
        offset = element_offset(self.strides[name], subscripts, lane)
        if array.is_packed:
            return self._packed(array, offset, subscripts, lanes)
        size = array.dtype.bytes
        if lanes is None or lane is None or offset.lane == 0:
            return vector.Access(self._address(name, offset), vector.Uniform.BROADCAST, size)
        if offset.lane == 1:
            return self._whole(array, offset, vector.Uniform.CONTIGUOUS, lanes.count)
        if offset.lane == -1:
            last = offset.literal.plus(LinearForm((), 1 - lanes.count))
            reversed_ = replace(offset, literal=last)
            return self._whole(array, reversed_, vector.Uniform.REVERSED, lanes.count)
        found = lane_distances(self.strides[name], subscripts, offset, lane, lanes.count)
        if found is None:
            return self._gather(name, subscripts, lanes)
        least, distances = found
        return vector.Access(self._address(name, least), vector.Offsets(distances), size)

    def _packed(
        self,
        array: Array,
        offset: Offset,
        subscripts: tuple[Expression, ...],
        lanes: _Lanes,
    ) -> vector.Access:
        """The access of a statement to a packed array."""
        address, bits = self._packed_address(array, offset), array.dtype.bits
        if lanes is None or offset.lane == 0:
            return vector.Access(address, vector.Uniform.BROADCAST, 1)
        if offset.lane == bits and address.unit is vector.Unit.BYTE and address.phase % bits == 0:
            return vector.Access(address, vector.Uniform.CONTIGUOUS, 1)
        return self._gather(array.name, subscripts, lanes)

    def _whole(
        self, array: Array, offset: Offset, movement: vector.Movement, elements: int
    ) -> vector.Access:
        """An access to consecutive elements."""
        base = CACHE_LINE if array.role is Role.TEMPORARY else array.dtype.bytes
        alignment = offset.alignment(base, array.dtype.bytes)
        is_private = (
            array.name in self.frame.stack
            and not offset.scaled
            and offset.literal.is_constant
            and 0
            <= offset.literal.constant
            <= (literal_elements(array, self.layouts[array.name]) or 0) - elements
        )
        return vector.Access(self._address(array.name, offset), movement, alignment, is_private)

    def _gather(
        self, name: str, subscripts: tuple[Expression, ...], lanes: _Lanes
    ) -> vector.Access:
        places = tuple([self.value(subscript, lanes) for subscript in subscripts])
        start = vector.Address(name, (), 0)
        return vector.Access(start, vector.Gather(places), self.arrays[name].dtype.bytes)

    def _packed_address(self, array: Array, offset: Offset) -> vector.Address:
        """An address in bytes if it always begins at the same bit of its byte, else in bits."""
        address = self._address(array.name, offset)
        in_bytes = not any(coefficient % 8 for _, coefficient in address.terms)
        if not in_bytes or (offset.scaled and array.rows is not Rows.PADDED):
            return replace(address, unit=vector.Unit.BIT)
        terms = tuple([(value, coefficient // 8) for value, coefficient in address.terms])
        whole, phase = divmod(address.constant, 8)
        return replace(address, terms=terms, constant=whole, unit=vector.Unit.BYTE, phase=phase)

    def _address(self, name: str, offset: Offset) -> vector.Address:
        terms = tuple([(self._atom(atom), factor) for atom, factor in offset.literal.terms])
        scaled = tuple([(dimension, self._sum(form)) for dimension, form in offset.scaled])
        depends = offset.is_data_dependent
        return vector.Address(name, terms, offset.literal.constant, scaled, depends)

    def _atom(self, atom: Expression) -> vector.Value:
        """A term of an address, simplified."""
        if isinstance(atom, Index | Parameter):
            low, high = self.known.get(atom.name, UNBOUNDED)
            if low is None or low != high:
                return atom
        form = self.index(atom)
        is_atom = form.constant == 0 and [factor for _, factor in form.terms] == [1]
        return form.terms[0][0] if is_atom else form


def can_stream(lanes: int, array: Array) -> bool:
    """Whether a vector of elements of an array is one that a streaming store writes."""
    size = lanes * array.dtype.bytes
    return size >= LEAST_BYTES and not size & (size - 1)


def _sequence(nodes: list[ir.Node]) -> ir.Node:
    return nodes[0] if len(nodes) == 1 else ir.Sequence(tuple(nodes))


def _lane_type(bits: int) -> DType:
    return DType(NumberKind.SIGNED, bits)


def _at(node: loop.Assign, variable: str, value: Expression) -> loop.Assign:
    """The assignment of one lane."""

    def rule(expression: Expression) -> Expression | None:
        return value if expression == Index(variable) else None

    target = node.target
    subscripts = tuple([transform(subscript, rule) for subscript in target.subscripts])
    return replace(
        node,
        target=ElementAccess(target.array, subscripts, target.location),
        value=transform(node.value, rule),
    )


def _mask_condition(node: loop.For) -> tuple[Expression | None, loop.Assign]:
    """The condition inside a vector loop, if any, and its assignment."""
    condition: Expression | None = None
    body: loop.LoopNode = node.body
    while isinstance(body, loop.If) and body.otherwise is None:
        condition = body.condition if condition is None else condition & body.condition
        body = body.then
    if not isinstance(body, loop.Assign):
        raise LoweringError(f"vector loop '{node.loop}' holds more than one assignment")
    return condition, body
