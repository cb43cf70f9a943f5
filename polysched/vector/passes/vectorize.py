"""Pass: convert loops to the vector IR, and classify every access and every mask.

Only this pass uses the intervals of loop variables to classify accesses; later passes and the
emitter rely on the result.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.errors import LoweringError
from polysched.ir.core.cache_lines import line_offsets
from polysched.ir.core.guards import guarded_update
from polysched.ir.core.kernel import Access as ElementAccess
from polysched.ir.core.kernel import Array
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform
from polysched.loops.analysis.usage import accessed_arrays
from polysched.loops.ir import nodes as loop
from polysched.machine.description import Machine
from polysched.vector import ir
from polysched.vector import values as vector
from polysched.vector.classify import (
    element_offset,
    extent,
    lanes_where,
    literal_lanes,
    surely_runs,
)
from polysched.vector.frames import region_frame
from polysched.vector.lowering import LanesOrNone, Lowering
from polysched.vector.nesting import require_shallow
from polysched.vector.streams import LEAST_BYTES, require_streams
from polysched.vector.tiles import tile_shape


def vectorize(program: loop.LoopProgram, machine: Machine) -> ir.VectorProgram:
    """Replace vector loops by vector statements, with classified accesses and masks.

    Raises:
        LoweringError: a vector loop holds more than one assignment or writes the same element in
            all lanes, loops are nested too deep, or an array cannot be streamed.
    """
    require_shallow(program)
    lowering = _Vectorizer(program, machine)
    vectors = ir.VectorProgram(
        program.name,
        program.parameters,
        program.context,
        program.arrays,
        lowering.scope.layouts,
        lowering.scope.frame,
        lowering.node(program.body),
    )
    require_streams(vectors)
    return vectors


class _Vectorizer:
    """One walk over a program; ``scope`` lowers the expressions of the current node."""

    def __init__(self, program: loop.LoopProgram, machine: Machine) -> None:
        self.program = program
        self.scope = Lowering(program, machine)
        self.in_region = False

    # -- control flow ----------------------------------------------------------------------------

    def node(self, node: loop.LoopNode) -> ir.Node:
        """Convert a node and all nodes below it."""
        match node:
            case loop.Transposition():
                return ir.Transpose(node.rows, node.columns, node.strategy, node.interleaving)
            case loop.Block(children=children):
                return _sequence([self.node(child) for child in children])
            case loop.Allocate(body=body):
                return self.node(body)
            case loop.If(condition=condition, then=then, otherwise=otherwise):
                other = None if otherwise is None else self.node(otherwise)
                holds = self.scope.value(condition, None)
                return ir.Branch(holds, self.node(then), other, node.leaves)
            case loop.For(kind=LoopKind.VECTOR):
                return self._vector(node)
            case loop.For():
                return self._loop(node)
            case loop.Assign():
                return self._assign(node, None)
            case loop.InstructionCall(meaning=meaning):
                return self._assign(meaning, None)
            case loop.TileCall(meaning=whole):
                return self._tile_call(node) or self.node(whole)

    def _loop(self, node: loop.For) -> ir.Loop:
        frame, known = self.scope.frame, self.scope.known
        runs = node.until is None and surely_runs(node, known)
        lower, upper = self.scope.index(node.lower), self.scope.index(node.upper)
        region = None
        if node.kind is LoopKind.PARALLEL and not self.in_region:
            region = region_frame(self.program, self.scope.layouts, frame, node)
            self.scope.frame = region
            self.in_region = True
        reached = loop.variable_interval(node.lower, node.upper, known)
        self.scope.known = {**known, node.variable: reached}
        body = [line for request in node.prefetches for line in self._prefetches(request)]
        body.append(self.node(node.body))
        self.scope.frame, self.scope.known = frame, known
        if region is not None:
            self.in_region = False
        until = None if node.until is None else self.scope.value(node.until, None)
        return ir.Loop(
            node.variable, node.loop, lower, upper, node.step, runs, _sequence(body), region, until
        )

    def _prefetches(self, request: loop.Prefetch) -> list[ir.Node]:
        """Prefetch each cache line of a box."""
        array = self.scope.arrays[request.array]
        prefetches: list[ir.Node] = []
        for element in line_offsets(request.extents, array.dtype.bytes):
            at = [start + offset for start, offset in zip(request.start, element, strict=True)]
            offset = element_offset(self.scope.strides[array.name], at, None)
            prefetches.append(ir.Prefetch(self.scope.address(array.name, offset), request.level))
        return prefetches

    # -- statements ------------------------------------------------------------------------------

    def _vector(self, node: loop.For) -> ir.Node:
        """Convert a vector loop to one statement in all lanes."""
        condition, body = _mask_condition(node)
        active = self._active(node, condition)
        if active is None:
            return ir.Sequence(())
        only = None if condition is not None else self._single_lane(node, active)
        if only is not None and self.scope.registers.isdisjoint(accessed_arrays(body)):
            plain = body.meaning if isinstance(body, loop.InstructionCall) else body
            return self._assign(_at(plain, node.variable, only), None)
        some = not isinstance(active, vector.Range | vector.Predicate)
        some = some or (condition is None and surely_runs(node, self.scope.known))
        self.scope.lane = node.variable
        lanes = vector.Lanes(node.lanes, active, some)
        if isinstance(body, loop.InstructionCall):
            statement: ir.Node = self._call(body, lanes)
        else:
            statement = self._assign(body, lanes)
        self.scope.lane = None
        return statement

    def _single_lane(self, node: loop.For, active: vector.Active) -> Expression | None:
        """The lane that runs, if exactly one lane does; else None."""
        if isinstance(active, vector.Range):
            length = extent(node, self.scope.known)
            return node.lower if length.is_constant and length.constant == 1 else None
        if isinstance(active, vector.Only) and len(active.lanes) == 1:
            return Constant(active.lanes[0])
        return None

    def _active(self, node: loop.For, condition: Expression | None) -> vector.Active | None:
        """The active lanes; None if no lane is active."""
        literal = literal_lanes(node, self.scope.known)
        lanes: tuple[int, ...] | None = None if literal is None else tuple(literal)
        if lanes is not None and condition is not None:
            lanes = lanes_where(condition, lanes, node.variable, self.scope.known)
        if lanes is not None:
            if len(lanes) == node.lanes:
                return vector.All()
            return vector.Only(lanes) if lanes else None
        within: vector.All | vector.Only | vector.Range
        if literal is None:
            lower, upper = self.scope.index(node.lower), self.scope.index(node.upper)
            is_first = not lower.terms and lower.constant <= 0
            within = vector.Range(None if is_first else lower, upper, node.step)
        else:
            within = vector.All() if len(literal) == node.lanes else vector.Only(tuple(literal))
        if condition is None:
            assert not isinstance(within, vector.All | vector.Only)
            return within
        self.scope.lane = node.variable
        holds = self.scope.value(condition, vector.Lanes(node.lanes, vector.All()))
        self.scope.lane = None
        return vector.Predicate(holds, within)

    def _assign(self, node: loop.Assign, lanes: LanesOrNone) -> ir.Node:
        guarded = guarded_update(node.target, node.value, self.scope.arrays)
        if guarded is not None:
            return self._guarded(node, lanes, *guarded)
        return self._written(node, lanes)

    def _written(self, node: loop.Assign, lanes: LanesOrNone) -> ir.Node:
        value = self.scope.value(node.value, lanes)
        if node.statement in self.program.reassociated and isinstance(value, vector.Apply):
            value = replace(value, reassociates=True)
        return ir.Assign(node.statement, self._target(node, lanes), value, lanes)

    def _guarded(
        self, node: loop.Assign, lanes: LanesOrNone, condition: Expression, value: Expression
    ) -> ir.Node:
        """Convert an assignment that touches memory only where a condition on data holds."""
        if condition == Constant(False, boolean):
            return ir.Sequence(())
        if lanes is None:
            runs = self.scope.value(condition, None)
            return ir.Branch(runs, self._written(replace(node, value=value), None))
        active = lanes.active
        if isinstance(active, vector.Predicate):
            self.scope.guard = active.condition
            also = self.scope.value(condition, lanes)
            self.scope.guard = None
            runs = vector.Apply(Operator.AND, (active.condition, also), boolean, False)
            active = vector.Predicate(runs, active.within)
        else:
            active = vector.Predicate(self.scope.value(condition, lanes), active)
        return self._written(
            replace(node, value=value), vector.Lanes(lanes.count, active, some=False)
        )

    def _target(self, node: loop.Assign, lanes: LanesOrNone) -> ir.Target:
        target, array = node.target, self.scope.arrays[node.target.array]
        if array.name in self.scope.registers:
            return ir.Keep(self.scope.register(array.name, target.subscripts, array.dtype))
        access = self.scope.access(array.name, target.subscripts, lanes)
        if lanes is None:
            return ir.Store(access)
        is_all = isinstance(lanes.active, vector.All)
        if access.movement is vector.Uniform.BROADCAST and is_all:
            raise LoweringError(
                f"statement '{node.statement}': all lanes of vector loop '{self.scope.lane}' "
                f"write the one element {target}; vectorize another loop"
            )
        if access.movement is vector.Uniform.BROADCAST:
            # In a legal schedule at most one lane is active.
            return ir.Store(self.scope.gather(array.name, target.subscripts, lanes))
        is_contiguous = access.movement is vector.Uniform.CONTIGUOUS and not array.is_packed
        if array.streamed and is_contiguous and is_all and can_stream(lanes.count, array):
            return ir.Stream(access)
        return ir.Store(access)

    def _call(self, node: loop.InstructionCall, lanes: vector.Lanes) -> ir.Call:
        """Convert a nest that one instruction computes."""
        scope, target, instruction = self.scope, node.meaning.target, node.instruction
        operands: list[tuple[str, vector.Load | Constant]] = []
        for name, operand in node.operands:
            if isinstance(operand, Constant):
                operands.append((name, operand))
                continue
            array, width = scope.arrays[operand.array], instruction.lane_width(name)
            offset = element_offset(scope.strides[array.name], operand.subscripts, scope.lane)
            assert offset.lane in (0, width)
            uniform = vector.Uniform.CONTIGUOUS if offset.lane else vector.Uniform.BROADCAST
            access = scope.whole(array, offset, uniform, width * lanes.count)
            operands.append((name, vector.Load(access, array.dtype)))
        before = None
        if instruction.updates:
            dtype = scope.arrays[target.array].dtype
            before = scope.value(Load(target.array, target.subscripts, dtype), lanes)
        written, name = self._target(node.meaning, lanes), node.meaning.statement
        return ir.Call(name, written, before, instruction, tuple(operands), lanes)

    def _tile_call(self, node: loop.TileCall) -> ir.TileCall | None:
        """Convert a nest that one instruction on tiles computes; None if its shape is unknown."""
        form, known = node.instruction, self.scope.known
        trips = [(name, linear_form(size, known)) for name, size in node.sizes]
        sizes = {name: trip.constant for name, trip in trips if trip.is_constant}
        if len(sizes) < len(trips) or not all(
            0 < sizes[name] <= form.extents[name] for name in sizes
        ):
            return None
        tiles = []
        for name, box in node.tiles:
            shape = tile_shape(form, name, sizes)
            if shape is None:
                return None
            subscripts, strides = box.first.subscripts, self.scope.strides[box.first.array]
            extents = [1] * len(subscripts)
            for dimension, own, step in box.steps:
                extents[dimension] += abs(step) * (sizes[own] - 1)
            offset = element_offset(strides, subscripts, None)
            address = self.scope.address(box.first.array, offset)
            place = tuple(map(self.scope.index, subscripts))
            tile = ir.Tile(address, *shape, box.distance, box.dimension, place, tuple(extents))
            tiles.append((name, tile))
        return ir.TileCall(_statement(node), form, tuple(sizes.items()), tuple(tiles))


def _statement(node: loop.LoopNode) -> str:
    return next(part.statement for part in loop.walk(node) if isinstance(part, loop.Assign))


def can_stream(lanes: int, array: Array) -> bool:
    """Whether a streaming store can write a vector of ``lanes`` elements of an array."""
    size = lanes * array.dtype.bytes
    return size >= LEAST_BYTES and not size & (size - 1)


def _sequence(nodes: list[ir.Node]) -> ir.Node:
    return nodes[0] if len(nodes) == 1 else ir.Sequence(tuple(nodes))


def _at(node: loop.Assign, variable: str, value: Expression) -> loop.Assign:
    """The assignment in a single lane."""

    def rule(expression: Expression) -> Expression | None:
        return value if expression == Index(variable) else None

    target = node.target
    subscripts = tuple([transform(subscript, rule) for subscript in target.subscripts])
    return replace(
        node,
        target=ElementAccess(target.array, subscripts, target.location),
        value=transform(node.value, rule),
    )


def _mask_condition(node: loop.For) -> tuple[Expression | None, loop.Assign | loop.InstructionCall]:
    """Split the body of a vector loop into its condition, if any, and its assignment."""
    condition: Expression | None = None
    body: loop.LoopNode = node.body
    while isinstance(body, loop.If) and body.otherwise is None:
        condition = body.condition if condition is None else condition & body.condition
        body = body.then
    if not isinstance(body, loop.Assign | loop.InstructionCall):
        raise LoweringError(f"vector loop '{node.loop}' holds more than one assignment")
    return condition, body
