"""Give names to size expressions that are not affine, or that are the distance of two rows.

::

    for (i = 0; i < w * h; i++) ...          w_h = w * h;  for (i = 0; i < w_h; i++) ...
    out[y * (w / 2) + x]                     w_2 = w / 2;  out[y * w_2 + x]
    int ow = w - kw + 1; ... [y * ow + x]    w_kw_1 = w - kw + 1;  int ow = w_kw_1; ...

Each such name becomes a parameter of the kernel, whose value is computed at the entry. An
expression is only named if it consists of sizes that the region does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from pycparser import c_ast

from polysched.frontends.scop.rewrites.size_values import COMPARISONS, DerivedSize, c_text
from polysched.frontends.scop.rewrites.usage import FILLS, changed_names, declared_names
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import (
    StandIn,
    cast_to,
    mapped,
    names_in,
    substituted,
    walk,
)
from polysched.ir.expr.dtypes import DType, i32, i64, u64

_ANY = frozenset({"+", "-", "*"})
_BY_LITERAL = frozenset({"/", "%", "<<", ">>"})
_DIVIDING = frozenset({"/", "%"})


@dataclass
class DerivedSizes:
    """Rewriting of the statements of one region.

    Attributes:
        sizes: the types of the signed integers outside the region that it does not change.
        may_leave: whether a loop may be left early.
        is_part: whether the statements are a part of a function: terms of subscripts that multiply
            sizes are named too, since loops around the part may count in them.
        found: the derived sizes, by name.
    """

    sizes: Mapping[str, DType]
    names: Names
    may_leave: bool = False
    is_part: bool = False
    found: dict[str, DerivedSize] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)
    _local: dict[str, c_ast.Node] = field(default_factory=dict)
    _named: set[str] = field(default_factory=set)
    _types: dict[str, c_ast.Node] = field(default_factory=dict)

    def items(self, items: Sequence[c_ast.Node]) -> tuple[c_ast.Node, ...]:
        """Rewrite statements."""
        self._local = dict(self._constants(items))
        for item in items:
            self._collect(item, in_subscript=False)
        bounds = [name for item in items for name in _names_in_bounds(item)]
        for name in [*self._named]:
            uses = sum(names_in(item).count(name) for item in items)
            if self._is_unsigned(c_ast.ID(name)) and uses > bounds.count(name):
                self._named.remove(name)
        return tuple(map(self._rewritten, items))

    def _constants(self, items: Sequence[c_ast.Node]) -> Iterator[tuple[str, c_ast.Node]]:
        """Yield the local constants that are functions of sizes, with their values."""
        nodes = [node for item in items for node in walk(item)]
        changed = changed_names(*items)
        declared = [node for node in nodes if isinstance(node, c_ast.Decl)]
        counts: dict[str, int] = {}
        for node in declared:
            counts[node.name] = counts.get(node.name, 0) + 1
        for node in declared:
            if (
                _is_number(node)
                and node.init
                and counts[node.name] == 1
                and node.name not in changed
            ):
                value = substituted(node.init, self._local)
                if self._is_pure(value):
                    self._local[node.name] = value
                    self._types[node.name] = node.type.type
                    yield node.name, value

    def _is_pure(self, node: c_ast.Node) -> bool:
        match node:
            case c_ast.ID(name=name):
                return name in self.sizes or name in self._local
            case c_ast.Constant(type="int", value=text):
                return bool(text.isdigit())
            case c_ast.UnaryOp(op="-", expr=inner) | c_ast.Cast(expr=inner):
                return _is_exact(node, self.may_leave) and self._is_pure(inner)
            case c_ast.TernaryOp(
                cond=c_ast.BinaryOp(op=operator, left=left, right=right), iftrue=one, iffalse=other
            ):
                return operator in COMPARISONS and all(
                    map(self._is_pure, (left, right, one, other))
                )
            case c_ast.BinaryOp(op=operator, left=left, right=right):
                if operator in _BY_LITERAL and _is_divisor(right, operator):
                    return self._is_pure(left)
                is_allowed = operator in _ANY or (operator in _DIVIDING and bool(names_in(right)))
                return is_allowed and self._is_pure(left) and self._is_pure(right)
        return False

    def _is_affine(self, node: c_ast.Node) -> bool:
        """Whether a function of sizes contains no product and no quotient of two of them."""
        node = substituted(node, self._local)
        return not _divides(node) and not any(
            isinstance(inner, c_ast.BinaryOp)
            and inner.op == "*"
            and names_in(inner.left)
            and names_in(inner.right)
            for inner in walk(node)
        )

    # -- which constants are named ---------------------------------------------------------------

    def _collect(self, node: c_ast.Node, *, in_subscript: bool) -> None:
        """Find the local constants that are to be named."""
        match node:
            case c_ast.ID(name=name) if in_subscript and name in self._local:
                if _divides(substituted(node, self._local)):
                    self._named.add(name)
            case c_ast.BinaryOp(op="*", left=left, right=right) if in_subscript:
                for factor, other in ((left, right), (right, left)):
                    is_sum = isinstance(factor, c_ast.ID) and isinstance(
                        self._local.get(factor.name), c_ast.BinaryOp
                    )
                    if is_sum and not self._is_pure(other):
                        value = self._local[factor.name]
                        if value.op != "*":
                            self._named.add(factor.name)
            case c_ast.For(cond=cond) | c_ast.If(cond=cond) if cond is not None:
                for name in names_in(cond):
                    if name in self._local and not self._is_affine(self._local[name]):
                        self._named.add(name)
        for slot, child in node.children():
            is_subscript = isinstance(node, c_ast.ArrayRef) and slot == "subscript"
            is_subscript |= _is_pointer(node) and slot == "init"
            self._collect(child, in_subscript=in_subscript or is_subscript)

    # -- rewriting -------------------------------------------------------------------------------

    def _rewritten(self, node: c_ast.Node) -> c_ast.Node:
        match node:
            case c_ast.Decl(name=str(name), init=c_ast.Node() as init) if name in self._named:
                if _is_unsigned(node.type.type):
                    init = cast_to(c_ast.TypeDecl(None, [], None, node.type.type), init)
                    if not self._is_pure(init):
                        return node
                return c_ast.Decl(
                    name, node.quals, node.align, node.storage, node.funcspec, node.type,
                    self._name(init), node.bitsize, node.coord,
                )  # fmt: skip
            case c_ast.Decl(init=c_ast.Node() as init) if _is_number(node) or _is_pointer(node):
                value = self._terms(init) if _is_pointer(node) else self._value(init)
                return c_ast.Decl(
                    node.name, node.quals, node.align, node.storage, node.funcspec, node.type,
                    value, node.bitsize, node.coord,
                )  # fmt: skip
            case c_ast.For():
                init, cond, step = (
                    None if part is None else self._bound(part)
                    for part in (node.init, node.cond, node.next)
                )
                return c_ast.For(init, cond, step, self._rewritten(node.stmt), node.coord)
            case c_ast.If():
                sides = [side and self._rewritten(side) for side in (node.iftrue, node.iffalse)]
                return c_ast.If(self._value(node.cond), *sides, node.coord)
            case c_ast.FuncCall(
                name=c_ast.ID(name=name), args=c_ast.ExprList(exprs=[*to, size])
            ) if name in FILLS:
                arguments = c_ast.ExprList([*to, self._bytes(size)], node.args.coord)
                return c_ast.FuncCall(node.name, arguments, node.coord)
            case c_ast.ArrayRef(name=array, subscript=subscript):
                changed = self._terms(subscript)
                return c_ast.ArrayRef(self._rewritten(array), changed, node.coord)
        return mapped(node, self._rewritten)

    def _value(self, node: c_ast.Node) -> c_ast.Node:
        """Name the products of sizes in a condition or value, unless a cast makes them unsigned.

        A negative size that is cast to ``size_t`` is a large number there, and no error.
        """
        return node if self._is_unsigned(node) else self._bound(node)

    def _is_unsigned(self, node: c_ast.Node) -> bool:
        casts = (
            part for part in walk(substituted(node, self._local)) if isinstance(part, c_ast.Cast)
        )
        declared = (self._types.get(name) for name in names_in(node))
        types = [*(cast.to_type.type.type for cast in casts if _is_number_type(cast)), *declared]
        return any(type_ is not None and _is_unsigned(type_) for type_ in types)

    def _bound(self, node: c_ast.Node) -> c_ast.Node:
        """Name the products of sizes in a bound or condition."""
        if isinstance(node, c_ast.ArrayRef):
            return self._rewritten(node)
        is_cast = isinstance(node, c_ast.Cast) and bool(names_in(node))
        is_product = isinstance(node, c_ast.BinaryOp) and not self._is_affine(node)
        if (is_cast or is_product) and self._is_pure(node):
            return self._name(node)
        return mapped(node, self._bound)

    def _bytes(self, node: c_ast.Node) -> c_ast.Node:
        """Name the product of the sizes in a number of bytes, such as ``sizeof(float) * w * h``."""
        pure: list[c_ast.Node] = []
        others: list[c_ast.Node] = []
        for factor in factors_of(node):
            is_size = self._is_pure(factor) and not isinstance(factor, c_ast.Constant)
            (pure if is_size else others).append(factor)
        if len(pure) < 2 and all(map(self._is_affine, pure)):
            return node
        return _product([self._name(_product(pure)), *others])

    def _terms(self, node: c_ast.Node) -> c_ast.Node:
        """Name the sum of the terms of a subscript that multiply or divide sizes."""
        terms = _terms_of(node) if self.is_part else []
        named = [term for term in terms if self._is_pure(term[1]) and not self._is_affine(term[1])]
        if not named:
            return self._subscript(node)
        others = [term for term in terms if term not in named]
        name = self._name(_sum_of(named))
        return _sum_of([*((sign, self._subscript(term)) for sign, term in others), ("+", name)])

    def _subscript(self, node: c_ast.Node) -> c_ast.Node:
        """Name the sums and quotients of sizes that something else is multiplied by."""
        if isinstance(node, c_ast.BinaryOp) and node.op == "*":
            factors = factors_of(node)
            pure = [factor for factor in factors if self._is_pure(factor) and names_in(factor)]
            if len(pure) > 1 and (product := _product(pure)) and self._is_known(product):
                others = [factor for factor in factors if factor not in pure]
                return _product([*others, self._name(product)])
            sides = [
                self._name(factor) if self._is_sum(factor) else self._subscript(factor)
                for factor in (node.left, node.right)
            ]
            return c_ast.BinaryOp("*", *sides, node.coord)
        if isinstance(node, c_ast.ArrayRef):
            return self._rewritten(node)
        if isinstance(node, c_ast.BinaryOp) and _divides(node) and self._is_pure(node):
            return self._name(node)
        return mapped(node, self._subscript)

    def _is_known(self, node: c_ast.Node) -> bool:
        return _key(substituted(node, self._local)) in self._known

    def _is_sum(self, node: c_ast.Node) -> bool:
        value = self._local.get(node.name, node) if isinstance(node, c_ast.ID) else node
        if isinstance(value, c_ast.TernaryOp):
            return self._is_pure(value)
        is_operation = isinstance(node, c_ast.BinaryOp) and node.op != "*"
        return is_operation and self._is_pure(node) and bool(names_in(node))

    def _name(self, node: c_ast.Node) -> c_ast.Node:
        """Return the name of a derived size."""
        value = substituted(node, self._local)
        text = _key(value)
        if text not in self._known:
            leaves = (part for part in walk(value) if isinstance(part, c_ast.ID | c_ast.Constant))
            words = [leaf.name if isinstance(leaf, c_ast.ID) else leaf.value for leaf in leaves]
            name = self.names.fresh("_".join(words)[:40])
            self._known[text] = name if not name[0].isdigit() else self.names.fresh(f"size_{name}")
            casts = [inner for inner in walk(value) if isinstance(inner, c_ast.Cast)]
            is_int = all(self.sizes[inner].bits <= 32 for inner in names_in(value)) and not casts
            is_unsigned = any(_is_unsigned(cast.to_type.type.type) for cast in casts)
            dtype = u64 if is_unsigned else i32 if is_int else i64
            self.found[self._known[text]] = DerivedSize(value, dtype)
        return StandIn(self._known[text], node)


def factors_of(node: c_ast.Node) -> list[c_ast.Node]:
    """Return the factors of a product."""
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        return [*factors_of(node.left), *factors_of(node.right)]
    return [node]


def _product(factors: Sequence[c_ast.Node]) -> c_ast.Node:
    return reduce(
        lambda product, other: c_ast.BinaryOp("*", product, other, product.coord), factors
    )


def _key(node: c_ast.Node) -> str:
    """Return a text that products have in common if only the order of the factors differs."""
    return "*".join(sorted(map(c_text, factors_of(node))))


def _terms_of(node: c_ast.Node) -> list[tuple[str, c_ast.Node]]:
    """Return the terms of a sum, each with its sign."""
    if not isinstance(node, c_ast.BinaryOp) or node.op not in ("+", "-"):
        return [("+", node)]
    right = _terms_of(node.right)
    if node.op == "-":
        right = [("-" if sign == "+" else "+", term) for sign, term in right]
    return [*_terms_of(node.left), *right]


def _sum_of(terms: Sequence[tuple[str, c_ast.Node]]) -> c_ast.Node:
    (sign, total), *others = sorted(terms, key=lambda term: term[0])  # "+" first
    if sign == "-":
        total = c_ast.UnaryOp("-", total, total.coord)
    for sign, term in others:
        total = c_ast.BinaryOp(sign, total, term, term.coord)
    return total


def _divides(node: c_ast.Node) -> bool:
    """Whether an expression divides by a size."""
    quotients = (part for part in walk(node) if isinstance(part, c_ast.BinaryOp))
    return any(quotient.op in _DIVIDING and names_in(quotient.right) for quotient in quotients)


def _is_pointer(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl)


def _is_exact(node: c_ast.Node, may_leave: bool) -> bool:
    """Whether an operator is a negation, or a cast to 64 bits that counts as exact.

    A negative size that is cast to ``size_t`` is larger than any array. A loop up to it that is
    never left early is undefined in C, so such a size counts as not negative.
    """
    if isinstance(node, c_ast.UnaryOp):
        return True
    if not isinstance(node.to_type.type, c_ast.TypeDecl):
        return False
    type_ = node.to_type.type.type
    if _is_unsigned(type_):
        return not may_leave
    return bool(set(getattr(type_, "names", ())) & {"ptrdiff_t", "ssize_t", "int64_t", "long"})


def _names_in_bounds(node: c_ast.Node) -> Iterator[str]:
    """Yield the names in the headers of loops and in subscripts."""
    for inner in walk(node):
        parts = [inner.init, inner.cond] if isinstance(inner, c_ast.For) else []
        parts += [inner.subscript] if isinstance(inner, c_ast.ArrayRef) else []
        yield from (name for part in parts if part is not None for name in names_in(part))


def _is_number_type(cast: c_ast.Cast) -> bool:
    return isinstance(cast.to_type.type, c_ast.TypeDecl)


def _is_number(node: c_ast.Decl) -> bool:
    """Whether a declaration is that of a signed integer."""
    return isinstance(node.type, c_ast.TypeDecl) and _is_int(node.type.type)


def _is_unsigned(type_: c_ast.Node) -> bool:
    """Whether a type is unsigned and has 64 bits."""
    names = set(getattr(type_, "names", ()))
    return bool(names & {"size_t", "uint64_t"}) or names >= {"unsigned", "long"}


def _is_int(type_: c_ast.Node) -> bool:
    names = set(getattr(type_, "names", ()))
    return bool(names) and names <= {"int", "long", "short", "signed", "size_t", "ptrdiff_t"}


def _is_divisor(node: c_ast.Node, operator: str) -> bool:
    """Whether a node is a positive literal by which a size may be divided or shifted."""
    is_literal = isinstance(node, c_ast.Constant) and node.type == "int" and node.value.isdigit()
    return is_literal and 0 < int(node.value) < (31 if operator in ("<<", ">>") else 2**31)


def sizes_of(numbers: Mapping[str, DType], items: Sequence[c_ast.Node]) -> Mapping[str, DType]:
    """Return the integers that statements do not change."""
    changed = changed_names(*items) | declared_names(*items)
    return {
        name: dtype for name, dtype in numbers.items() if dtype.is_integer and name not in changed
    }
