"""What names mean at a place of the text, and which instances get there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import islpy as isl
from pycparser import c_ast

from polysched.errors import FrontendError, KernelError, suggestion
from polysched.frontends.scop.choices import Choice
from polysched.frontends.scop.constants import header_of
from polysched.frontends.scop.places import Places
from polysched.frontends.scop.types import Typedefs
from polysched.ir.affine import instance_space, to_set
from polysched.ir.array_handle import ArrayHandle
from polysched.ir.dtypes import DType
from polysched.ir.expressions import Expression, Index, Load, Parameter
from polysched.ir.functions import equal
from polysched.ir.kernel import Array
from polysched.ir.limits import limited
from polysched.ir.source import SourceLocation


@dataclass(frozen=True)
class ArrayBinding:
    """A name that stands for an array of the kernel; a scalar is one without dimensions.

    ``is_flat``: it has one subscript in C, over all elements of its declared shape. ``guards``:
    the conditions on data around its declaration.
    """

    handle: ArrayHandle
    is_flat: bool = False
    is_const: bool = False
    guards: int = 0

    @property
    def array(self) -> Array:
        """The array."""
        return self.handle.array

    @property
    def dtype(self) -> DType:
        """Of an element."""
        return self.array.dtype

    @property
    def rank(self) -> int:
        """Subscripts that an element takes in C."""
        return 1 if self.is_flat else len(self.array.shape)

    def element(self, subscripts: tuple[Expression, ...], location: SourceLocation) -> Load:
        """The value of an element."""
        return Load(self.array.name, subscripts, self.array.dtype, location)


@dataclass(frozen=True)
class IntegerBinding:
    """A name that stands for an integer known before the statements: a size, an index, or affine
    in those.

    ``is_affine``: if not, it is a polynomial in those, which linearized subscripts may use.
    """

    value: Expression
    dtype: DType
    is_affine: bool = True

    @property
    def is_index(self) -> bool:
        """Whether it is the variable of a loop."""
        return isinstance(self.value, Index)


@dataclass(frozen=True)
class EndedBinding:
    """The variable of a loop, declared outside it: what it holds elsewhere is not followed."""

    node: c_ast.Node
    dtype: DType


Binding: TypeAlias = ArrayBinding | IntegerBinding | EndedBinding


class Scope:
    """The names that can be used, the loops and conditions around, and proofs about them.

    Args:
        places: of the text.
        typedefs: the types that it names.
        known: names that could have been meant, for messages.
        functions: what the file itself says that a function of that name is.
        choices: the functions of the file that may be called.
    """

    def __init__(
        self,
        places: Places,
        typedefs: Typedefs,
        known: frozenset[str],
        functions: frozenset[str] = frozenset(),
        choices: Mapping[str, Choice] = MappingProxyType({}),
    ) -> None:
        self.places = places
        self._known = known
        self._functions = functions
        self.choices = choices
        self.typedefs = typedefs
        self._names: list[dict[str, Binding]] = [{}]
        self._parameters: tuple[str, ...] = ()
        self._indices: tuple[str, ...] = ()
        self._conditions: tuple[Expression, ...] = ()
        self._domain: isl.Set | None = None

    @property
    def indices(self) -> tuple[str, ...]:
        """The indices of the loops around."""
        return self._indices

    @property
    def parameters(self) -> tuple[str, ...]:
        """The sizes of the kernel."""
        return self._parameters

    def add_parameter(self, name: str) -> None:
        """A size that conditions may name from now on."""
        self._parameters = (*self._parameters, name)
        self._domain = None

    def bind(self, name: str, binding: Binding) -> None:
        """Give a name its meaning in the innermost block."""
        self._names[-1][name] = binding

    def is_own(self, name: str) -> bool:
        """Whether the innermost block declares a name."""
        return name in self._names[-1]

    def find(self, name: str) -> Binding | None:
        """What a name means, None if nothing."""
        return next((block[name] for block in reversed(self._names) if name in block), None)

    def lookup(self, node: c_ast.ID) -> ArrayBinding | IntegerBinding:
        """What a name means.

        Raises:
            FrontendError: nothing, or the variable of a loop that has ended.
        """
        found = self.find(node.name)
        if isinstance(found, EndedBinding):
            raise self.error(
                node,
                f"'{node.name}' is a loop's variable and is used outside the loop; use its bound, "
                "or another variable",
            )
        if found is None:
            names = self._known.union(*self._names)
            header = header_of(node.name)
            if header is not None:
                raise self.error(
                    node, f"'{node.name}' is not declared; write '#include <{header}>'"
                )
            if node.name in names:  # its turn is after the sizes and what is promised of them
                raise self.error(
                    node,
                    f"'{node.name}' is an array, or a number that is no size; expected sizes and "
                    "integers here",
                )
            macro = f"; CPPFLAGS=-D{node.name}=... makes it a macro" if node.name.isupper() else ""
            raise self.error(
                node, f"'{node.name}' is not declared{suggestion(node.name, names)}{macro}"
            )
        return found

    def require_known(self, node: c_ast.ID) -> None:
        """Check that a function that is called is not one of the file's own.

        Raises:
            FrontendError: it is, and so need not be what the name means elsewhere.
        """
        if node.name in self._functions:
            raise self.error(
                node,
                f"'{node.name}' is a function of this file, which kernels cannot call unless all "
                "it does is to return an expression of its numbers; make it a macro, or write "
                "what it computes",
            )

    def error(self, node: c_ast.Node, reason: str) -> FrontendError:
        """The error about a node of the tree."""
        return self.places.error(node, reason)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Names bound inside mean nothing afterwards."""
        self._names.append({})
        try:
            yield
        finally:
            self._names.pop()

    @contextmanager
    def loop(self, index: str, first: Expression, end: Expression, step: int) -> Iterator[None]:
        """The inside of a loop from ``first`` to ``end``, excluded."""
        variable = Index(index)
        if step > 0:
            conditions = [first <= variable, variable < end]
        else:
            conditions = [variable <= first, end < variable]
        if abs(step) > 1:
            conditions.append(equal((variable - first) % abs(step), 0))
        with self.variable(index, *conditions):
            yield

    @contextmanager
    def variable(self, index: str, *conditions: Expression) -> Iterator[None]:
        """Inside, there is one more index, for which conditions hold."""
        before = self._indices
        self._indices = (*before, index)
        try:
            with self.assuming(*conditions):
                yield
        finally:
            self._indices = before
            self._domain = None

    @contextmanager
    def assuming(self, *conditions: Expression) -> Iterator[None]:
        """The instances inside are those at which conditions hold."""
        before = self._conditions
        self._conditions = (*before, *conditions)
        self._domain = None
        try:
            yield
        finally:
            self._conditions = before
            self._domain = None

    def assume(self, condition: Expression) -> None:
        """A condition over the sizes that always holds."""
        self._conditions = (*self._conditions, condition)
        self._domain = None

    def is_reached(self) -> bool:
        """Whether an instance gets here, for some values of the sizes."""
        return not self._instances().is_empty()

    def proves(self, condition: Expression) -> bool:
        """Whether an affine condition holds at every instance that gets here."""
        try:
            with limited(KernelError, "too intricate"):
                domain = self._instances()
                holds = to_set(condition, domain.get_space())
                return bool(domain.is_subset(holds))
        except KernelError:
            return False

    def _instances(self) -> isl.Set:
        if self._domain is None:
            space = instance_space(self._parameters, "", self._indices)
            found = isl.Set.universe(space)
            with limited(KernelError, "the loops and conditions around are too intricate"):
                for condition in self._conditions:
                    found = found.intersect(to_set(condition, space))
            self._domain = found
        return self._domain

    def require_affine(self, node: c_ast.Node, condition: Expression) -> None:
        """Check that isl takes a condition here.

        Raises:
            FrontendError: it is not affine, or too intricate.
        """
        space = instance_space(self._parameters, "", self._indices)
        try:
            with limited(KernelError, "it is too intricate"):
                to_set(condition, space)
        except KernelError as error:
            raise self.error(node, str(error)) from None


def size(name: str, dtype: DType) -> IntegerBinding:
    """The binding of a parameter of the kernel."""
    return IntegerBinding(Parameter(name), dtype)
