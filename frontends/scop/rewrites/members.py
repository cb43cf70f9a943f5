"""Replace the members of structs by variables of their own.

::

    b[i].x += dt * b[i].vx;             b_x[i] += dt * b_vx[i];       arrays with strides
    im->data[y * im->stride + x]        im_data[y * im_stride + x]    a pointer and a number
    vec3 u; u.x = p->x;                 float u_x, u_y, u_z; u_x = p_x;
    q[i].y = p[i].y;                    q_members[i * 3 + 1] = p_members[i * 3 + 1];

The translation sees arrays and numbers only. Distinct members never overlap, so each can be an
array of its own; :class:`MemberPlace` says where its elements lie. With `joins`, all members of
structs of numbers of one type are elements of one array, which is how vectors load and store them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import base_name, changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import StandIn, mapped, names_in, walk
from polysched.frontends.scop.types.layouts import Layouts, Member
from polysched.frontends.scop.types.struct_places import (
    Base,
    Chain,
    MemberPlace,
    MemberVariable,
    array_type,
    element_count,
    element_places,
    literal_node,
    members_under,
    renamed_pointer,
    sum_node,
)

MOST_ELEMENTS = 64
"""Largest number of elements that the copy of a struct is written out to."""


_Environment = Mapping[str, Base | Chain]


@dataclass
class Members:
    """Rewriting of the statements of one region.

    Attributes:
        indexed: pointers to structs that have subscripts.
        joins: whether arrays of structs whose numbers have one type become one array each.
        variables: the variables outside the region that were introduced, by name.
    """

    layouts: Layouts
    names: Names
    indexed: set[str]
    joins: bool = False
    variables: dict[str, MemberVariable] = field(default_factory=dict)
    _known: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    def items(
        self, items: Sequence[c_ast.Node], environment: _Environment
    ) -> tuple[c_ast.Node, ...]:
        """Rewrite the statements of a block."""
        result: list[c_ast.Node] = []
        for position, item in enumerate(items):
            if isinstance(item, c_ast.Decl):
                declared = self._declared(item, items[position + 1 :], environment)
                if declared is not None:
                    environment, nodes = declared
                    result += nodes
                    continue
                hidden = {name: value for name, value in environment.items() if name != item.name}
                environment = hidden
            result.append(self._rewritten(item, environment))
        return tuple(result)

    def base(self, node: c_ast.Node, *, is_local: bool) -> Base | None:
        """Return the variable that a declaration of struct type declares, or None."""
        if not isinstance(node, c_ast.Decl) or node.name is None:
            return None
        type_, is_pointer = node.type, False
        dims: list[c_ast.Node | None] = []
        qualifiers: set[str] = set()
        while isinstance(type_, c_ast.ArrayDecl | c_ast.PtrDecl):
            if isinstance(type_, c_ast.PtrDecl):
                if dims:
                    return None
                is_pointer = True
                qualifiers |= set(type_.quals or ()) & {"restrict"}
            else:
                qualifiers |= set(type_.dim_quals or ()) & {"restrict"}
                is_pointer |= type_.dim is None
            dims.append(type_.dim if isinstance(type_, c_ast.ArrayDecl) else None)
            type_ = type_.type
        struct = self.layouts.struct(type_)
        if struct is None or (len(dims) > 1 and not is_local):
            return None
        qualifiers |= set(getattr(type_, "quals", None) or ()) & {"const"}
        layout = self.layouts.layout(struct, node)
        return Base(node, layout, tuple(dims), is_pointer, is_local, frozenset(qualifiers))

    # -- declarations of the region --------------------------------------------------------------

    def _declared(
        self, node: c_ast.Decl, following: Sequence[c_ast.Node], environment: _Environment
    ) -> tuple[_Environment, list[c_ast.Node]] | None:
        """Rewrite a declaration of struct type; None for any other declaration."""
        base = self.base(node, is_local=True)
        if base is None:
            return None
        if base.is_pointer:
            chain = None if node.init is None else self._chain(node.init, environment)
            if chain is None or (chain.missing and not chain.base.is_pointer):
                return None
            used = {name for subscript in chain.subscripts for name in names_in(subscript)} | {
                node.name
            }
            after = [inner for statement in following for inner in walk(statement)]
            targets = [target for inner in after if (target := changed_by(inner)) is not None]
            changed = {base_name(target) for target in targets if base_name(target) != node.name}
            changed |= {target.name for target in targets if isinstance(target, c_ast.ID)}
            hidden = {inner.name for inner in after if isinstance(inner, c_ast.Decl)}
            if used & (changed | hidden):
                return None
            return {**environment, node.name: chain}, []
        environment = {**environment, node.name: base}
        nodes: list[c_ast.Node] = []
        for member in base.layout.members:
            if member.is_pointer:
                return None
            name = self._local(base, member)
            type_ = array_type(member.node, name, [*base.dims, *map(literal_node, member.dims)])
            nodes.append(c_ast.Decl(name, [], [], [], [], type_, None, None, node.coord))
        if node.init is not None:
            target = c_ast.ID(node.name, node.coord)
            copied = self._copied(target, node.init, environment, node)
            if copied is None:
                return None
            nodes += copied
        return environment, nodes

    def _local(self, base: Base, member: Member) -> str:
        key = (base.name, member.path)
        if key not in self._known:
            self._known[key] = self.names.fresh("_".join((base.name, *member.path)))
        return self._known[key]

    # -- expressions and statements --------------------------------------------------------------

    def _rewritten(self, node: c_ast.Node, environment: _Environment) -> c_ast.Node:
        match node:
            case c_ast.Compound(block_items=items):
                return c_ast.Compound(list(self.items(items or (), environment)), node.coord)
            case c_ast.Assignment(op="=", lvalue=target, rvalue=value):
                copied = self._copied(target, value, environment, node)
                if copied is not None:
                    return c_ast.Compound(copied, node.coord)
            case c_ast.StructRef() | c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
                element = self._element(node, environment)
                if element is not None:
                    return element
        return mapped(node, lambda child: self._rewritten(child, environment))

    def _element(self, node: c_ast.Node, environment: _Environment) -> c_ast.Node | None:
        chain = self._chain(node, environment)
        if chain is None or chain.is_address:
            return None
        member = next(
            (candidate for candidate in chain.base.layout.members if candidate.path == chain.path),
            None,
        )
        if member is None or (chain.missing and len(chain.subscripts) < len(chain.base.dims)):
            return None
        return self._reference(chain, member, node, environment)

    def _reference(
        self, chain: Chain, member: Member, node: c_ast.Node, environment: _Environment
    ) -> c_ast.Node | None:
        """Return the variable of a member with the subscripts of a chain."""
        base = chain.base
        subscripts = [self._rewritten(subscript, environment) for subscript in chain.subscripts]
        is_indexed = base.name in self.indexed or not base.is_pointer
        if base.is_pointer and not is_indexed:
            subscripts = subscripts[1:]
        if base.is_local:
            name = self._local(base, member)
        else:
            if member.is_pointer and ((is_indexed and base.dims) or subscripts):
                return None
            if self.joins and len(base.dims) == 1 and is_indexed and len(subscripts) > 0:
                number = base.layout.number
                if number is not None and len(subscripts) == 1 + len(member.dims):
                    name = self._outside(base, number)
                    joined = _joined(subscripts, base.layout.size, member)
                    return c_ast.ArrayRef(StandIn(name, node), joined, node.coord)
            name = self._outside(base, member)
        result: c_ast.Node = StandIn(name, node)
        for subscript in subscripts:
            result = c_ast.ArrayRef(result, subscript, node.coord)
        return result

    def _outside(self, base: Base, member: Member) -> str:
        """Return the variable outside the region that stands for a member."""
        key = (base.name, member.path)
        if key in self._known:
            return self._known[key]
        name = self._known[key] = self.names.fresh("_".join((base.name, *member.path)))
        is_single = base.is_pointer and base.name not in self.indexed
        outer = [] if is_single else list(base.dims)
        type_, size = member.node, base.layout.size
        is_joined = member == base.layout.number and member not in base.layout.members
        if is_joined:
            ((dim,), size) = outer, member.bytes
            if dim is not None:
                count = literal_node(base.layout.size // size)
                outer = [c_ast.BinaryOp("*", dim, count, dim.coord)]
        if member.is_pointer:
            type_ = renamed_pointer(type_, name)
        else:
            quals = ["const"] if "const" in base.qualifiers else []
            type_ = array_type(type_, name, [*outer, *map(literal_node, member.dims)], quals)
        if is_joined:
            text = f"{base.name}[0].{base.layout.members[0].text}"
        elif is_single:
            text = f"{base.name}->{member.text}"
        else:
            text = f"{base.name}{'[0]' * len(outer)}.{member.text}"
        place = MemberPlace(
            base.name,
            text,
            member,
            size,
            base.is_pointer,
            "restrict" in base.qualifiers,
            bool(outer),
        )
        declaration = c_ast.Decl(name, [], [], [], [], type_, None, None, base.node.coord)
        self.variables[name] = MemberVariable(declaration, place)
        return name

    def _chain(self, node: c_ast.Node, environment: _Environment) -> Chain | None:
        """Resolve an expression that leads into a struct; None for any other."""
        match node:
            case c_ast.ID(name=name):
                known = environment.get(name)
                if isinstance(known, Base):
                    return Chain(known, missing=len(known.dims))
                return known
            case c_ast.ArrayRef(name=inner, subscript=by):
                chain = self._chain(inner, environment)
                return None if chain is None else self._subscripted(chain, by)
            case c_ast.UnaryOp(op="*", expr=inner):
                chain = self._chain(inner, environment)
                return None if chain is None else self._subscripted(chain, None)
            case c_ast.UnaryOp(op="&", expr=inner):
                chain = self._chain(inner, environment)
                is_element = chain is not None and not chain.missing and not chain.is_address
                return replace(chain, is_address=True) if chain and is_element else None
            case c_ast.BinaryOp(op="+", left=inner, right=by):
                chain = self._chain(inner, environment)
                moved = None if chain is None else self._subscripted(chain, by)
                is_struct = moved is not None and not moved.missing
                return replace(moved, is_address=True) if moved and is_struct else None
            case c_ast.StructRef(name=inner, type=kind, field=c_ast.ID(name=name)):
                chain = self._chain(inner, environment)
                if chain is not None and kind == "->":
                    chain = self._subscripted(chain, None)
                if chain is None or chain.is_address or chain.missing:
                    return None
                path = (*chain.path, name)
                under = [
                    member
                    for member in chain.base.layout.members
                    if member.path[: len(path)] == path
                ]
                if not under:
                    return None
                rank = len(chain.base.dims) + sum(under[0].ranks[: len(path)])
                return replace(chain, path=path, missing=rank - len(chain.subscripts))
        return None

    def _subscripted(self, chain: Chain, by: c_ast.Node | None) -> Chain | None:
        """Apply a subscript, or ``*`` for None, to an array of structs or to an address."""
        if chain.is_address:
            if by is None:
                return replace(chain, is_address=False)
            *before, last = chain.subscripts or (None,)
            if last is None or chain.path:
                return None
            self._is_indexed(chain.base)
            added = sum_node(last, by)
            return replace(chain, subscripts=(*before, added), is_address=False)
        if not chain.missing:
            return None
        is_first = chain.base.is_pointer and not chain.subscripts
        if is_first and by is not None:
            self._is_indexed(chain.base)
        subscripts = (*chain.subscripts, by or c_ast.Constant("int", "0"))
        return replace(chain, subscripts=subscripts, missing=chain.missing - 1)

    def _is_indexed(self, base: Base) -> None:
        if base.is_pointer:
            self.indexed.add(base.name)

    # -- copies ----------------------------------------------------------------------------------

    def _copied(
        self,
        target: c_ast.Node,
        value: c_ast.Node,
        environment: _Environment,
        node: c_ast.Node,
    ) -> list[c_ast.Node] | None:
        """Write the copy of a struct as copies of its numbers; None if this is no such copy."""
        own = self._chain(target, environment)
        if own is None or own.missing or own.is_address:
            return None
        members = members_under(own)
        count = sum(element_count(member) for member in members)
        if (
            not members
            or any(member.path == own.path for member in members)
            or count > MOST_ELEMENTS
        ):
            return None
        if isinstance(value, c_ast.CompoundLiteral):
            value = value.init
        if isinstance(value, c_ast.InitList):
            values = _initializers(value, members, own)
            return None if values is None else self._stores(own, members, values, environment, node)
        other = self._chain(value, environment)
        if other is None or other.missing or other.is_address:
            return None
        theirs = members_under(other)
        if [member.path[len(other.path) :] for member in theirs] != [
            member.path[len(own.path) :] for member in members
        ] or any(member.is_pointer for member in members):
            return None
        result: list[c_ast.Node] = []
        for mine, source in zip(members, theirs, strict=True):
            for place in element_places(mine.dims):
                pair = [
                    self._reference(
                        replace(chain, path=member.path, subscripts=(*chain.subscripts, *place)),
                        member,
                        node,
                        environment,
                    )
                    for chain, member in ((own, mine), (other, source))
                ]
                result.append(c_ast.Assignment("=", *pair, node.coord))
        return result

    def _stores(
        self,
        own: Chain,
        members: list[Member],
        values: list[c_ast.Node],
        environment: _Environment,
        node: c_ast.Node,
    ) -> list[c_ast.Node] | None:
        """Assign values to the numbers of a struct, which the values do not use."""
        if any(own.base.name in names_in(value) for value in values):
            return None
        return [
            c_ast.Assignment(
                "=",
                self._reference(replace(own, path=member.path), member, node, environment),
                self._rewritten(value, environment),
                node.coord,
            )
            for member, value in zip(members, values, strict=True)
        ]


def _joined(subscripts: Sequence[c_ast.Node], size: int, member: Member) -> c_ast.Node:
    """Return the subscript of a member in the array of the numbers of all structs.

    Its type is long, because a product with an unsigned subscript may wrap around.
    """
    number = member.bytes
    steps = [step // number for step in (size, *member.steps)]
    parts = [
        c_ast.BinaryOp("*", subscript, c_ast.Constant("long int", f"{step}L"), subscript.coord)
        for subscript, step in zip(subscripts, steps, strict=True)
    ]
    if member.offset:
        parts.append(literal_node(member.offset // number))
    return reduce(sum_node, parts)


def _initializers(
    value: c_ast.InitList, members: list[Member], own: Chain
) -> list[c_ast.Node] | None:
    """Return the value of each member in an initializer; None if it has another form."""
    values = list(value.exprs)
    if len(values) != len(members) or any(member.dims for member in members):
        return None
    if any(isinstance(value, c_ast.InitList) for value in values):
        return None
    named = [value for value in values if isinstance(value, c_ast.NamedInitializer)]
    if not named:
        return values
    by_name = {
        initializer.name[0].name: initializer.expr
        for initializer in named
        if len(initializer.name) == 1
    }
    keys = [member.path[len(own.path)] for member in members]
    is_complete = len(named) == len(values) and set(keys) == set(by_name)
    return [by_name[key] for key in keys] if is_complete else None
