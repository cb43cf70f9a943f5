"""Variables that a region sees: of the file, of its function, and members of structs."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.expressions import EXTREMA
from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.size_values import SizeValue
from polysched.frontends.scop.source.parse import ParsedSource
from polysched.frontends.scop.source.trees import walk
from polysched.frontends.scop.types.c_types import CType, Typedefs, declared_type
from polysched.frontends.scop.types.functions import FUNCTIONS
from polysched.frontends.scop.types.struct_places import MemberPlace

MOST_VALUES = 64
"""Largest number of elements with initializers: each becomes a statement of the kernel."""


class Origin(Enum):
    """Kind of declaration of a variable."""

    PARAMETER = "parameter"
    LOCAL = "local variable"
    FILE = "variable of the file"


@dataclass(frozen=True)
class Variable:
    """Variable that is declared outside the region, or member of a struct that is.

    Attributes:
        name: in the translated statements.
        origin: where the variable, or the variable that leads to the struct, is declared.
        place: the place of a member in its struct; None for a variable of its own.
        derived: the expression of a size computed at entry; None for a variable of the source.
    """

    name: str
    node: c_ast.Decl
    type: CType
    origin: Origin
    place: MemberPlace | None = None
    derived: SizeValue | None = None

    @property
    def text(self) -> str:
        """The variable in C."""
        return self.name if self.place is None else self.place.text


def typedefs_of(tree: c_ast.FileAST, before: Collection[c_ast.Node] = ()) -> Typedefs:
    """Collect the typedefs of a file, then those of the blocks around a region."""
    nodes = (*tree.ext, *before)
    return {node.name: node for node in nodes if isinstance(node, c_ast.Typedef)}


def own_functions(tree: c_ast.FileAST) -> frozenset[str]:
    """Find the functions with a built-in meaning that a file defines or declares itself.

    A declaration of a math.h function does not count; a declaration of ``min`` or ``floord`` does.
    """
    defined = {node.decl.name for node in tree.ext if isinstance(node, c_ast.FuncDef)}
    declared = {
        node.name
        for node in tree.ext
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
    }
    known = {*FUNCTIONS, *EXTREMA, "floord", "ceild"}
    return frozenset((defined | (declared - set(FUNCTIONS))) & known)


def variables_of(
    parsed: ParsedSource, region: Region, typedefs: Typedefs, used: Collection[str]
) -> dict[str, Variable]:
    """Collect the variables visible in a region, in declaration order; inner ones hide outer ones.

    An unused variable of an unsupported type is left out. If it is a pointer parameter and the
    region is the whole function, it is kept as a void pointer, since callers pass it.

    Args:
        used: the names that the region uses.
    """
    arguments = region.function.decl.type.args
    declarations = [
        *((node, Origin.FILE) for node in parsed.tree.ext),
        *((node, Origin.PARAMETER) for node in ([] if arguments is None else arguments.params)),
        *((node, Origin.LOCAL) for node in region.before),
    ]
    variables: dict[str, Variable] = {}
    for node, origin in declarations:
        if isinstance(node, c_ast.EllipsisParam):
            raise parsed.source_map.error(
                region.function.decl,
                f"'{region.name}' takes variable arguments; expected a fixed number of parameters",
            )
        if not isinstance(node, c_ast.Decl) or not _is_variable(node):
            continue
        hidden = variables.pop(node.name, None)
        if hidden is not None and hidden.origin is origin is Origin.PARAMETER:
            raise parsed.source_map.error(node, f"'{node.name}' is declared twice")
        is_argument = origin is Origin.PARAMETER and region.is_function
        try:
            type_ = declared_type(node.type, typedefs, parsed.source_map, node)
        except FrontendError:
            is_pointer = isinstance(node.type, c_ast.PtrDecl | c_ast.ArrayDecl)
            if node.name in used:
                raise
            if not is_argument:
                continue
            # A struct that is passed by value is a variable of type void, which nothing may use.
            type_ = CType(None, (None,) if is_pointer else (), is_pointer=is_pointer)
        if type_.dtype is None and type_.is_pointer and node.name in used:
            type_ = _alias_type(parsed, region, typedefs, node) or type_
        variables[node.name] = Variable(node.name, node, type_, origin)
    origins = {node.name: origin for node, origin in declarations if isinstance(node, c_ast.Decl)}
    for name, member in region.members.items():
        node, place = member.declaration, member.place
        type_ = declared_type(node.type, typedefs, parsed.source_map, node)
        variables[name] = Variable(name, node, type_, origins[place.base], place)
    for result in region.results:
        node = c_ast.Decl(result.name, [], [], [], [], result.type, None, None, result.type.coord)
        type_ = declared_type(result.type, typedefs, parsed.source_map, node)
        variables[result.name] = Variable(result.name, node, type_, Origin.LOCAL)
    for name, size_ in region.derived.items():
        declaration = c_ast.Decl(name, [], [], [], [], None, None, None, size_.node.coord)
        variables[name] = Variable(
            name, declaration, CType(size_.dtype, is_const=True), Origin.LOCAL, derived=size_
        )
    return variables


def _alias_type(
    parsed: ParsedSource, region: Region, typedefs: Typedefs, node: c_ast.Decl
) -> CType | None:
    """Return the type of the pointer that a void pointer initializes, as ``char *p = key;``.

    None if the void pointer is used in any other way.
    """
    nodes = [inner for item in region.items for inner in walk(item)]
    uses = sum(isinstance(inner, c_ast.ID) and inner.name == node.name for inner in nodes)
    for inner in nodes:
        if not isinstance(inner, c_ast.Decl) or not isinstance(inner.type, c_ast.PtrDecl):
            continue
        init = inner.init.expr if isinstance(inner.init, c_ast.Cast) else inner.init
        if isinstance(init, c_ast.ID) and init.name == node.name and uses == 1:
            with contextlib.suppress(FrontendError):
                return declared_type(inner.type, typedefs, parsed.source_map, inner)
    return None


def is_table(node: c_ast.Decl) -> bool:
    """Whether a declaration is a constant array with an initializer."""
    inner = node.type
    while isinstance(inner, c_ast.ArrayDecl):
        inner = inner.type
    is_const = isinstance(inner, c_ast.TypeDecl) and "const" in (inner.quals or ())
    return is_const and isinstance(node.init, c_ast.InitList)


def is_small_table(node: c_ast.Decl) -> bool:
    """Whether a declaration is a constant array that statements of the kernel can set."""
    if not is_table(node):
        return False
    values = sum(isinstance(part, c_ast.Constant) for part in walk(node.init))
    extents = [part.dim for part in walk(node.type) if isinstance(part, c_ast.ArrayDecl)]
    literal = [int(extent.value) for extent in extents if isinstance(extent, c_ast.Constant)
               and extent.value.isdigit()]  # fmt: skip
    return max(values, prod(literal)) <= MOST_VALUES


def _is_variable(node: c_ast.Decl) -> bool:
    return node.name is not None and not isinstance(node.type, c_ast.FuncDecl | c_ast.Struct)


@dataclass(frozen=True)
class Outside:
    """Variables declared outside a region that it uses.

    Attributes:
        sizes: the parameters of the kernel.
        arrays: the arrays and scalars of the kernel, by name.
    """

    sizes: tuple[Variable, ...]
    arrays: Mapping[str, Variable]
