"""Convert the loop tree to an isl schedule tree: one band per nest, with marks and options.

Every band and every buffer's lifetime is put under a numbered *mark*. The marks stay in isl's AST,
where they identify the loops of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, TypeVar

import islpy as isl

from polysched.ir.core.tree import Leaf, Loop, LoopKind, Node, Sequence, path, statements
from polysched.loops.isl_ast.ast_kinds import is_mark
from polysched.schedule.buffers.lifetime import lifetime
from polysched.schedule.core.program import Program


@dataclass(frozen=True, eq=False)
class Nest:
    """The mark of a band: its loops, the outermost first, and the number of loops around them."""

    loops: tuple[Loop, ...]
    depth: int


@dataclass(frozen=True, eq=False)
class BufferLifetime:
    """The mark of a buffer's lifetime, and the number of loops around it."""

    array: str
    depth: int


Mark: TypeAlias = Nest | BufferLifetime


def isl_ast(program: Program, tree: Node) -> tuple[isl.AstNode, list[Mark]]:
    """Generate isl's AST of a tree.

    Args:
        tree: its schedule tree in execution order.

    Returns:
        The AST, and the objects that its marks stand for, by number.
    """
    builder = _TreeBuilder(program, tree)
    schedule, marks = builder.schedule(tree, 0), builder.marks
    schedule = _with_options(schedule.get_root(), marks).get_schedule()
    build = isl.AstBuild.from_context(program.kernel.context)
    iterators = reduce(
        isl.IdList.add, map(isl.Id, iterator_names(tree)), isl.IdList.alloc(isl.DEFAULT_CONTEXT, 0)
    )
    return build.set_iterators(iterators).node_from_schedule(schedule), marks


def schedule_tree(program: Program, tree: Node) -> str:
    """Print the schedule as a schedule tree of isl, in isl's notation.

    A mark above each band names its loops and how they run.
    """
    builder = _TreeBuilder(program, tree)
    schedule = builder.schedule(tree, 0)
    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT)
    printer = printer.set_yaml_style(isl.yaml_style.BLOCK).print_schedule(schedule)
    return re.sub(
        r'"mark(\d+)"', lambda mark: f'"{_title(builder.marks[int(mark[1])])}"', printer.get_str()
    )


def _title(mark: Mark) -> str:
    if isinstance(mark, BufferLifetime):
        return f"buffer {mark.array}"
    return ", ".join(
        loop.name if loop.kind is LoopKind.SEQUENTIAL else f"{loop.kind.value} {loop.name}"
        for loop in mark.loops
    )


def iterator_names(tree: Node) -> list[str]:
    """The names of isl's iterators by depth; no parameter can have such a name."""
    depth = max((len(path(tree, name)) for name in statements(tree)), default=0)
    return [f"depth.{number}" for number in range(depth)]


def births(program: Program, tree: Node) -> dict[int, list[str]]:
    """The buffers whose lifetime begins at each node, by the identity of the node."""
    born: dict[int, list[str]] = {}
    for array in program.arrays.values():
        life = lifetime(program, tree, array) if array.tile else None
        if life is not None:
            born.setdefault(id(life.position.node), []).append(array.name)
    return born


class _TreeBuilder:
    """Builds the schedule tree of a program from the leaves upwards.

    Attributes:
        marks: the objects that the marks stand for, by number.
    """

    def __init__(self, program: Program, tree: Node) -> None:
        self.marks: list[Mark] = []
        self._statements = program.statements
        self._births = births(program, tree)

    def schedule(self, node: Node, depth: int) -> isl.Schedule:
        """The schedule of a node inside ``depth`` loops."""
        match node:
            case Leaf(statement=statement):
                domain = self._statements[statement].domain
                schedule = isl.Schedule.from_domain(isl.UnionSet.from_set(domain))
            case Sequence(children=children):
                schedule = balanced(
                    isl.Schedule.sequence, [self.schedule(child, depth) for child in children]
                )
            case Loop():
                nest = _nest(node, self._births)
                schedule = self.schedule(nest[-1].body, depth + len(nest))
                schedule = schedule.insert_partial_schedule(self._band(nest))
                schedule = self._marked(schedule, Nest(nest, depth))
        for array in self._births.get(id(node), []):
            schedule = self._marked(schedule, BufferLifetime(array, depth))
        return schedule

    def _band(self, nest: tuple[Loop, ...]) -> isl.MultiUnionPwAff:
        columns = [
            isl.MultiUnionPwAff.from_union_pw_aff(
                balanced(
                    isl.UnionPwAff.union_add,
                    [isl.UnionPwAff.from_pw_aff(value) for value in loop.values.values()],
                )
            )
            for loop in nest
        ]
        return reduce(isl.MultiUnionPwAff.flat_range_product, columns)

    def _marked(self, schedule: isl.Schedule, mark: Mark) -> isl.Schedule:
        self.marks.append(mark)
        node = schedule.get_root().child(0)
        return node.insert_mark(isl.Id(f"mark{len(self.marks) - 1}")).get_schedule()


def _nest(outermost: Loop, lifetimes: dict[int, list[str]]) -> tuple[Loop, ...]:
    """The perfect nest that begins with ``outermost``."""
    nest = [outermost]
    while isinstance(nest[-1].body, Loop) and id(nest[-1].body) not in lifetimes:
        nest.append(nest[-1].body)
    return tuple(nest)


def _with_options(node: isl.ScheduleNode, marks: list[Mark]) -> isl.ScheduleNode:
    """Keep isl from splitting a vector loop with holes into several loops.

    Options come last, because a band with options cannot be moved any more.
    """
    if is_mark(node):
        mark = marks[mark_number(node.mark_get_id())]
        if isinstance(mark, Nest) and mark.loops[-1].kind is LoopKind.VECTOR:
            option = isl.UnionSet(f"{{ atomic[{len(mark.loops) - 1}] }}")
            node = node.child(0).band_set_ast_build_options(option).parent()
    for position in range(node.n_children()):
        node = _with_options(node.child(position), marks).parent()
    return node


def mark_number(mark: isl.Id) -> int:
    """The number of a mark."""
    return int(mark.get_name().removeprefix("mark"))


_Part = TypeVar("_Part")


def balanced(join: Callable[[_Part, _Part], _Part], parts: Iterable[_Part]) -> _Part:
    """Reduce parts with ``join`` as a balanced tree.

    Args:
        join: an associative function; the order of the parts is kept.
        parts: at least one.
    """
    remaining = list(parts)
    while len(remaining) > 1:
        pairs = zip(remaining[::2], remaining[1::2], strict=False)
        # With an odd number of parts the last one has no neighbor and stays as it is.
        remaining = [join(*pair) for pair in pairs] + remaining[len(remaining) & ~1 :]
    return remaining[0]
