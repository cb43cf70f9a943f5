"""Translate C expressions to typed expression trees, with C's implicit conversions explicit."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.expressions import COMPARISONS, EXTREMA, affine
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.affine.sizeof import bytes_of
from polysched.frontends.scop.affine.subscripts import element_of
from polysched.frontends.scop.inline.choices import Choice
from polysched.frontends.scop.source.source_map import SourceMap
from polysched.frontends.scop.types.c_types import c_name, common_type, declared_type, promoted
from polysched.frontends.scop.types.excess_precision import rounded, unrounded
from polysched.frontends.scop.types.functions import BUILTIN, CLASSES, FUNCTIONS, KNOWN, power
from polysched.frontends.scop.types.literals import literal, narrowed_literal
from polysched.instructions.matching import fits
from polysched.ir.expr.dtypes import DType, NumberKind, boolean, i32, i64, u64
from polysched.ir.expr.expressions import Constant, Expression, Operation, operation, typed
from polysched.ir.expr.functions import absolute, cast, not_equal, select
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.scalar import as_scalar, converter

Decisions = Mapping[c_ast.Node, bool]

SHIFTS = frozenset({"<<", ">>"})

_ARITHMETIC: Mapping[str, Operator] = MappingProxyType(
    {
        "+": Operator.ADD,
        "-": Operator.SUBTRACT,
        "*": Operator.MULTIPLY,
        "%": Operator.REMAINDER,
        "&": Operator.BIT_AND,
        "|": Operator.BIT_OR,
        "^": Operator.BIT_XOR,
    }
)
_BITS = frozenset({"&", "|", "^"})


@dataclass(frozen=True)
class Values:
    """Translator of C expressions in one statement.

    Attributes:
        decisions: truth values of the conditions that the statement is split by.
    """

    scope: Scope
    decisions: Decisions = field(default_factory=dict)

    @property
    def source_map(self) -> SourceMap:
        """The source positions of the file."""
        return self.scope.source_map

    def value(self, node: c_ast.Node) -> Expression:
        """Translate an expression; comparisons have type bool, all others their C type.

        Raises:
            FrontendError: the expression has side effects, or is not supported in kernels.
        """
        match node:
            case c_ast.Constant():
                return literal(node, self.source_map)
            case c_ast.ID():
                return self._named(node)
            case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
                binding, subscripts = element_of(self.scope, node)
                return binding.element(subscripts, self.source_map.location(node))
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.BinaryOp():
                return self._binary(node)
            case c_ast.TernaryOp():
                return self._ternary(node)
            case c_ast.Cast():
                return self._cast(node)
            case c_ast.FuncCall():
                return self._call(node)
        raise self._refused(node)

    def truth(self, node: c_ast.Node) -> Expression:
        """Translate an expression to a boolean: whether its value differs from 0."""
        value = self.value(node)
        return value if value.dtype == boolean else not_equal(value, 0)

    def _refused(self, node: c_ast.Node) -> FrontendError:
        shown = self.source_map.text(node)
        match node:
            case c_ast.Assignment():
                reason = "an assignment inside an expression; make it a statement of its own"
            case c_ast.StructRef():
                reason = (
                    f"'{shown}' is a member of a struct; expected numbers and arrays of numbers"
                )
            case c_ast.ExprList():
                reason = "a comma expression; make each part a statement of its own"
            case _:
                reason = f"'{shown}' is not supported in kernels"
        return self.scope.error(node, reason)

    def _named(self, node: c_ast.ID) -> Expression:
        binding = self.scope.lookup(node)
        if isinstance(binding, ArrayBinding):
            array, subscripts = element_of(self.scope, node)
            return array.element(subscripts, self.source_map.location(node))
        value = binding.value
        if isinstance(value, Constant):
            return Constant(value.value, binding.dtype)
        return converted(value, binding.dtype)

    def _unary(self, node: c_ast.UnaryOp) -> Expression:
        match node.op:
            case "-" | "+":
                operand = self._promoted(node.expr)
                if node.op == "+":
                    return operand
                if isinstance(operand, Constant):
                    return folded(Constant(-operand.value, operand.type))
                return converted(-unrounded(operand), c_type_of(operand))
            case "!":
                return ~self.truth(node.expr)
            case "sizeof":
                return self._size(node)
            case "p++" | "p--" | "++" | "--":
                reason = "changes a variable inside an expression; make it a statement of its own"
            case "&":
                reason = "takes an address; expected a value"
            case "~":
                return self._complement(node)
            case _:
                reason = "is not supported in kernels"
        raise self.scope.error(node, f"'{self.source_map.text(node)}' {reason}")

    def _complement(self, node: c_ast.UnaryOp) -> Expression:
        operand = self._promoted(node.expr)
        self._require_bits(node, c_type_of(operand))
        if isinstance(operand, Constant):
            return folded(Constant(~int(operand.value), operand.type))
        return ~operand

    def _require_bits(self, node: c_ast.Node, dtype: DType) -> None:
        if not dtype.is_integer:
            shown = self.source_map.text(node)
            reason = f"'{shown}' is a bitwise operation on {c_name(dtype)}; expected integers"
            raise self.scope.error(node, reason)

    def _size(self, node: c_ast.UnaryOp) -> Expression:
        size = bytes_of(self.scope, node)
        if size is None:
            raise self.scope.error(
                node,
                "sizeof of this is not known; expected a number type, an element, or an array "
                "whose extents are literals",
            )
        return Constant(size, u64)

    def _promoted(self, node: c_ast.Node) -> Expression:
        value = self.value(node)
        return converted(value, promoted(c_type_of(value)))

    def _binary(self, node: c_ast.BinaryOp) -> Expression:
        if node in self.decisions:  # && or || whose left operand is decided
            holds = self.decisions[node]
            needs_right = holds if node.op == "&&" else not holds
            return self.truth(node.right) if needs_right else Constant(holds, boolean)
        if node.op in ("&&", "||"):
            left = self.truth(node.left)
            with self.scope.depending_on_data():
                right = self.truth(node.right)
            join = self.scope.both if node.op == "&&" else self.scope.either
            return join(left, right)
        if node.op in SHIFTS:
            return self.shifted(node, node.op, self.value(node.left), node.right)
        return self.combined(node, node.op, self.value(node.left), self.value(node.right))

    def combined(
        self, node: c_ast.Node, symbol: str, left: Expression, right: Expression
    ) -> Expression:
        """Combine two values by a C operator, after C's usual arithmetic conversions."""
        if symbol in ("&", "|") and _own_type(left) == _own_type(right) == boolean:
            return left & right if symbol == "&" else left | right
        dtype = common_type(c_type_of(left), c_type_of(right))
        left, right = converted(left, dtype), converted(right, dtype)
        if symbol in COMPARISONS:
            return COMPARISONS[symbol](left, right)
        if symbol == "%" and dtype.is_float:
            raise self.scope.error(node, "'%' of floating-point numbers; use fmod")
        if symbol in _BITS:
            self._require_bits(node, dtype)
        if symbol == "/":
            operator = Operator.QUOTIENT if dtype.is_integer else Operator.DIVIDE
        else:
            operator = _ARITHMETIC[symbol]
        return converted(operation(operator, unrounded(left), unrounded(right)), dtype)

    def shifted(
        self, node: c_ast.Node, symbol: str, left: Expression, right: c_ast.Node
    ) -> Expression:
        """Translate a shift; by a literal it becomes a multiplication or a floor division.

        Raises:
            FrontendError: an operand is not an integer, or a literal shift amount is out of range.
        """
        dtype = promoted(c_type_of(left))
        left = converted(left, dtype)
        by = self.value(right)
        self._require_bits(node, dtype)
        self._require_bits(node, c_type_of(by))
        amount = self._known_amount(right)
        if amount is not None and not 0 <= amount < dtype.bits:
            raise self.scope.error(
                node,
                f"a shift of {c_name(dtype)} by {amount}; expected a shift amount from 0 to "
                f"{dtype.bits - 1}",
            )
        if amount is None or amount == dtype.bits - 1:
            operator = Operator.SHIFT_LEFT if symbol == "<<" else Operator.SHIFT_RIGHT
            return operation(operator, left, converted(by, dtype))
        factor = Constant(1 << amount, dtype)
        return left * factor if symbol == "<<" else left // factor

    def _known_amount(self, node: c_ast.Node) -> int | None:
        try:
            return affine(self.scope, node).number
        except FrontendError:  # it depends on data
            return None

    def _ternary(self, node: c_ast.TernaryOp) -> Expression:
        if node in self.decisions:
            chosen = node.iftrue if self.decisions[node] else node.iffalse
            other = node.iffalse if self.decisions[node] else node.iftrue
            value = self.value(chosen)
            return converted(value, common_type(c_type_of(value), self._type_of(other)))
        holds = self.truth(node.cond)
        with self.scope.alternatives() as alternative:
            with alternative():
                if_true = self.value(node.iftrue)
            with alternative():
                if_false = self.value(node.iffalse)
        dtype = common_type(c_type_of(if_true), c_type_of(if_false))
        return selected(holds, converted(if_true, dtype), converted(if_false, dtype))

    def _type_of(self, node: c_ast.Node) -> DType:
        with self.scope.not_evaluated():
            return c_type_of(self.value(node))

    def _cast(self, node: c_ast.Cast) -> Expression:
        target = declared_type(node.to_type.type, self.scope.typedefs, self.source_map, node)
        if target.dims:
            raise self.scope.error(node, "a cast to a pointer; expected a cast to a number type")
        if target.dtype is None:
            raise self.scope.error(node, "a cast to void; remove it")
        if isinstance(node.expr, c_ast.Constant):
            number = narrowed_literal(node.expr, target.dtype, self.source_map)
            if number is not None:
                return number
        return rounded(converted(self.value(node.expr), target.dtype))

    def _call(self, node: c_ast.FuncCall) -> Expression:
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        if name:
            self.scope.require_known(node.name)
        arguments = node.args.exprs if node.args is not None else []
        if name in self.scope.choices:
            return self._choice(node, self.scope.choices[name], arguments)
        if name in EXTREMA and len(arguments) == 2:
            return self._extremum_call(EXTREMA[name], arguments)
        if name in ("floord", "ceild"):
            quotient = affine(self.scope, node)
            return converted(quotient.value, quotient.dtype)
        if name in BUILTIN and all(getattr(text, "value", None) == '""' for text in arguments):
            return BUILTIN[name]
        if name in CLASSES and len(arguments) == 1:
            value = self.value(arguments[0])
            if c_type_of(value).is_float:
                return CLASSES[name](value)
        function = FUNCTIONS.get(name)
        if function is None:
            near = difflib.get_close_matches(name, FUNCTIONS, n=1)
            raise self.scope.error(
                node,
                f"a call of '{self.source_map.text(node.name)}', which is not supported in "
                f"kernels; expected {f'{near[0]}, or another' if near else 'one'} of "
                f"{', '.join(KNOWN)}",
            )
        if len(arguments) != function.operands:
            raise self.scope.error(
                node,
                f"'{name}' takes {function.operands} arguments; this call has {len(arguments)}",
            )
        operands = [converted(self.value(argument), function.dtype) for argument in arguments]
        if function.operator is Operator.ABSOLUTE:
            return absolute(operands[0])
        if function.operator is Operator.POWER:
            return power(*operands)
        result = operation(function.operator, *operands)
        return result if function.result is None else converted(result, function.result)

    def _choice(
        self, node: c_ast.FuncCall, choice: Choice, arguments: list[c_ast.Node]
    ) -> Expression:
        """Translate a call of a min or max function that the file defines."""
        if len(arguments) != 2:
            raise self.scope.error(
                node, f"'{node.name.name}' takes 2 arguments; this call has {len(arguments)}"
            )
        operands = [converted(self.value(argument), choice.dtype) for argument in arguments]
        if choice.dtype.is_integer:
            return operation(choice.operator, *operands)
        left, right = (operands[at] for at in choice.compared)
        holds = COMPARISONS[choice.symbol](left, right)
        return select(holds, operands[choice.chosen], operands[1 - choice.chosen])

    def _extremum_call(self, operator: Operator, arguments: list[c_ast.Node]) -> Expression:
        """Translate ``min(a, b)`` to ``a < b ? a : b`` and ``max(a, b)`` to ``a > b ? a : b``."""
        left, right = map(self.value, arguments)
        dtype = common_type(c_type_of(left), c_type_of(right))
        left, right = converted(left, dtype), converted(right, dtype)
        if dtype.is_integer:
            return operation(operator, left, right)
        holds = left < right if operator is Operator.MINIMUM else right < left
        return select(holds, left, right)


def converted(value: Expression, dtype: DType) -> Expression:
    """Convert a value to a type as C does; literals are folded."""
    value = typed(value, i64)  # untyped integers, from `affine`, are exact in 64 bits
    source = _own_type(value)
    if source == dtype:
        return value
    if source.is_float and dtype.is_integer and _through(dtype) != dtype:
        return converted(converted(value, _through(dtype)), dtype)
    if isinstance(value, Constant):
        return folded(Constant(converter(source, dtype)(as_scalar(value.value, source)), dtype))
    return cast(value, dtype)


def _through(dtype: DType) -> DType:
    """Return the intermediate integer type of a float conversion: one that x86 converts to.

    C compilers convert through it. It matters only for values that do not fit `dtype`, whose
    conversion is undefined in C.
    """
    if dtype.bits < 32:
        return i32
    return i64 if dtype.bits == 32 and not dtype.is_signed else dtype


def folded(constant: Constant) -> Constant:
    """Wrap a literal to the range of its type and make its value a plain Python number."""
    dtype = constant.type
    assert dtype is not None
    scalar = as_scalar(constant.value, dtype)
    if dtype.is_float:
        return Constant(float(scalar), dtype)
    return Constant(bool(scalar) if dtype == boolean else int(scalar), dtype)


def c_type_of(value: Expression) -> DType:
    """Return the type of a value in C, where comparisons are int."""
    dtype = _own_type(value)
    return i32 if dtype.kind is NumberKind.BOOLEAN else dtype


def _own_type(value: Expression) -> DType:
    assert value.dtype is not None
    return value.dtype


def selected(holds: Expression, if_true: Expression, if_false: Expression) -> Expression:
    """Select between two values; ``a < b ? a : b`` of integers and its like become min or max."""
    own, other = _own_type(if_true), _own_type(if_false)
    is_ordered = isinstance(holds, Operation) and holds.operator in (
        Operator.LESS,
        Operator.LESS_EQUAL,
    )
    if is_ordered and own.is_integer and own == other:
        assert isinstance(holds, Operation)
        # C compares narrow integers as int, which changes no value.
        compared = holds.operands[0].dtype or own
        if compared.is_integer and fits(own, compared):
            first, second = converted(if_true, compared), converted(if_false, compared)
            if holds.operands == (first, second):
                return operation(Operator.MINIMUM, if_true, if_false)
            if holds.operands == (second, first):
                return operation(Operator.MAXIMUM, if_true, if_false)
    return select(holds, if_true, if_false)
