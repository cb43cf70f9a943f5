"""Simplify integer expressions: linear forms and interval arithmetic.

Subscripts in generated loops contain floors and remainders of sums, such as ``(64*co + ci) // 64``.
Most of them disappear once the expression is written as a weighted sum of atoms and the intervals
of the loop variables are known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import gcd

from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
)
from polysched.ir.expr.linear_form import (
    CACHED_FORM,
    UNBOUNDED,
    Interval,
    Intervals,
    LinearForm,
    add_term,
)
from polysched.ir.expr.operators import COMPARISONS, Operator
from polysched.ir.expr.traversal import rebuild, walk

_CACHED_NAMES = "names"
"""Key in a node's ``__dict__`` that caches the names of its indices and parameters."""
FAR = 2**40
"""More than the elements of any array or vector and the iterations of any unrolled loop."""


def linear_form(expression: Expression, known: Intervals) -> LinearForm:
    """Convert an integer expression to a linear form, simplified by the known intervals."""
    plain: LinearForm | None = vars(expression).get(CACHED_FORM)
    if known:
        if plain is not None and plain.is_affine:
            return plain.where(known)
        names = _names(expression)
        if names is None:
            return _linear_form(expression, known)
        return _form_within(expression, tuple([(name, known.get(name)) for name in names]))
    if plain is None:
        plain = vars(expression)[CACHED_FORM] = _linear_form(expression, {})
    return plain


def _names(expression: Expression) -> frozenset[str] | None:
    """The indices and parameters of an expression, computed once; None if it reads data."""
    try:
        return vars(expression)[_CACHED_NAMES]  # type: ignore[no-any-return]
    except KeyError:
        nodes = list(walk(expression))
        reads = any(isinstance(node, Load | Cast) for node in nodes)
        found = frozenset(node.name for node in nodes if isinstance(node, Index | Parameter))
        names = vars(expression)[_CACHED_NAMES] = None if reads else found
        return names


@lru_cache(maxsize=2**13)
def _form_within(
    expression: Expression, ranges: tuple[tuple[str, Interval | None], ...]
) -> LinearForm:
    """The form of an expression whose indices and parameters have the given intervals.

    The copies of an unrolled loop repeat the same bounds: a softmax of rows asks 4600 times for the
    forms of 160 expressions.
    """
    return _linear_form(expression, {name: range_ for name, range_ in ranges if range_ is not None})


def _linear_form(expression: Expression, known: Intervals) -> LinearForm:
    terms: dict[Expression, int] = {}
    constant = _add(expression, 1, known, terms)
    return LinearForm(tuple(terms.items()), constant)


def _add(
    expression: Expression, factor: int, known: Intervals, terms: dict[Expression, int]
) -> int:
    """Add ``factor`` times an expression to the terms; return its contribution to the constant."""
    if isinstance(expression, (Index, Parameter)):
        low, high = known.get(expression.name, UNBOUNDED)
        if low is not None and low == high:
            return factor * low
        add_term(expression, factor, terms)
        return 0
    if isinstance(expression, Constant):
        return factor * int(expression.value)
    if not isinstance(expression, Operation):
        add_term(expression, factor, terms)
        return 0
    operands = expression.operands
    match expression.operator:
        case Operator.ADD:
            left, right = operands
            return _add(left, factor, known, terms) + _add(right, factor, known, terms)
        case Operator.SUBTRACT:
            left, right = operands
            return _add(left, factor, known, terms) + _add(right, -factor, known, terms)
        case Operator.NEGATE:
            return _add(operands[0], -factor, known, terms)
        case Operator.MULTIPLY:
            left, right = operands
            if isinstance(left, Constant):
                left, right = right, left
            if isinstance(right, Constant) and right.value:
                return _add(left, factor * int(right.value), known, terms)
    forms = [linear_form(operand, known) for operand in operands[:2]]
    form = _operation(expression, expression.operator, forms, known)
    for atom, coefficient in form.terms:
        add_term(atom, factor * coefficient, terms)
    return factor * form.constant


def _operation(
    expression: Operation, operator: Operator, forms: list[LinearForm], known: Intervals
) -> LinearForm:
    match operator, forms:
        case Operator.MULTIPLY, [left, right] if right.is_constant:
            return left.times(right.constant)
        case Operator.MULTIPLY, [left, right] if left.is_constant:
            return right.times(left.constant)
        case Operator.FLOOR_DIVIDE, [left, right] if right.is_constant and right.constant > 0:
            return _floor(left, right.constant, known)
        case Operator.MODULO, [left, right] if right.is_constant and right.constant > 0:
            return left.plus(_floor(left, right.constant, known), -right.constant)
        case ((Operator.MINIMUM | Operator.MAXIMUM), [left, right]):
            return _extremum(operator, left, right, known)
    simplified = tuple(simplify(operand, known) for operand in expression.operands)
    if operator is Operator.SELECT and isinstance(simplified[0], Constant):
        return linear_form(simplified[1 if simplified[0].value else 2], known)
    return LinearForm(((rebuild(expression, simplified), 1),), 0)


def _floor(form: LinearForm, divisor: int, known: Intervals) -> LinearForm:
    """``floor(form / divisor)``: extract multiples; a rest between two multiples is constant."""
    whole = tuple((atom, c // divisor) for atom, c in form.terms if c % divisor == 0)
    rest = LinearForm(
        tuple((atom, c) for atom, c in form.terms if c % divisor), form.constant % divisor
    )
    result = LinearForm(whole, form.constant // divisor)
    low, high = interval(rest, known)
    if low is not None and high is not None and low // divisor == high // divisor:
        return result.plus(low // divisor)
    rest = _without_remainder(rest, divisor, known)
    common = gcd(divisor, *(c for _, c in rest.terms))
    rest = LinearForm(tuple((atom, c // common) for atom, c in rest.terms), rest.constant // common)
    if divisor == common:
        return result.plus(rest)
    return result.plus(LinearForm(((rest.expression() // (divisor // common), 1),), 0))


def _without_remainder(form: LinearForm, divisor: int, known: Intervals) -> LinearForm:
    """Drop terms that cannot change the quotient: j in ``(64 i + j) // 128`` if 0 <= j < 64."""
    for step in sorted({gcd(divisor, c) for _, c in form.terms}, reverse=True):
        terms = tuple((atom, c) for atom, c in form.terms if c % step)
        small = LinearForm(terms, form.constant % step)
        low, high = interval(small, known)
        if low is not None and high is not None and low >= 0 and high < step:
            return form.plus(small, -1)
    return form


def _extremum(
    operator: Operator, left: LinearForm, right: LinearForm, known: Intervals
) -> LinearForm:
    low, high = interval(left.plus(right, -1), known)
    if high is not None and high <= 0:
        return left if operator is Operator.MINIMUM else right
    if low is not None and low >= 0:
        return right if operator is Operator.MINIMUM else left
    operands = (left.expression(), right.expression())
    return LinearForm(((Operation(operator, operands, operands[0].dtype), 1),), 0)


def interval(form: LinearForm, known: Intervals) -> Interval:
    """Compute literal bounds of a form's value.

    First the bounds of the terms are added. If this gives no bound, or one beyond ``FAR``, terms
    may still cancel: ``min(a, b) - c`` is at most ``a - c`` and at most ``b - c``, where ``c`` may
    cancel, and so may ``n`` in ``n - 4*(n//4)``. Bounds beyond ``FAR`` are useless, because they
    only come from the limits on sizes.
    """
    low, high = _sum_interval(form, known)
    for atom, _ in form.terms:
        if isinstance(atom, Operation):
            break
    else:  # no term has parts
        return low, high
    if low is None or low < -FAR:
        low = _either(max, low, _bound_by_parts(form, known, from_above=False))
    if high is None or high > FAR:
        high = _either(min, high, _bound_by_parts(form, known, from_above=True))
    return low, high


def _bound_by_parts(form: LinearForm, known: Intervals, *, from_above: bool) -> int | None:
    """Bound a form by substituting the operands of an atom for the atom."""
    bound = _bound_by_operand(form, known, from_above=from_above)
    return _bound_by_dividend(form, known, from_above=from_above) if bound is None else bound


def _bound_by_dividend(form: LinearForm, known: Intervals, *, from_above: bool) -> int | None:
    """Bound a form that contains ``e // d``, using ``d * (e // d) == e - e mod d``."""
    for atom, coefficient in form.terms:
        match atom:
            case Operation(
                operator=Operator.FLOOR_DIVIDE, operands=(left, Constant(value=value))
            ) if value > 0 and coefficient % int(value) == 0:
                divisor = int(value)
                factor = coefficient // divisor
                dividend = linear_form(left, known)
                rest = form.plus(LinearForm(((atom, coefficient),), 0), -1).plus(dividend, factor)
                if len(rest.terms) >= len(form.terms):
                    continue  # nothing cancels
                bound = interval(rest, known)[from_above]
                if bound is not None:
                    slack = -factor * (divisor - 1)
                    return bound + (max(slack, 0) if from_above else min(slack, 0))
    return None


def _bound_by_operand(form: LinearForm, known: Intervals, *, from_above: bool) -> int | None:
    """Bound a form by the operands of a minimum (from above) or a maximum (from below)."""
    for atom, coefficient in form.terms:
        grows = (coefficient > 0) == from_above
        bounding = Operator.MINIMUM if grows else Operator.MAXIMUM
        if isinstance(atom, Operation) and atom.operator is bounding:
            rest = form.plus(LinearForm(((atom, coefficient),), 0), -1)
            bounds = [
                interval(rest.plus(linear_form(operand, known), coefficient), known)[from_above]
                for operand in atom.operands
            ]
            literal_bounds = [bound for bound in bounds if bound is not None]
            if literal_bounds:
                return min(literal_bounds) if from_above else max(literal_bounds)
    return None


def _sum_interval(form: LinearForm, known: Intervals) -> Interval:
    """The sum of the bounds of the terms."""
    low: int | None = form.constant
    high: int | None = form.constant
    for atom, coefficient in form.terms:
        atom_low, atom_high = _atom_interval(atom, known)
        if coefficient < 0:
            atom_low, atom_high = atom_high, atom_low
        low = None if low is None or atom_low is None else low + coefficient * atom_low
        high = None if high is None or atom_high is None else high + coefficient * atom_high
    return low, high


def _atom_interval(atom: Expression, known: Intervals) -> Interval:
    match atom:
        case Index() | Parameter():
            return known.get(atom.name, UNBOUNDED)
        case Operation(operator=Operator.FLOOR_DIVIDE, operands=(left, Constant(value=divisor))):
            low, high = interval(linear_form(left, known), known)
            by = int(divisor)
            return None if low is None else low // by, None if high is None else high // by
        case Operation(
            operator=(Operator.MINIMUM | Operator.MAXIMUM) as operator, operands=(left, right)
        ):
            a = interval(linear_form(left, known), known)
            b = interval(linear_form(right, known), known)
            if operator is Operator.MINIMUM:
                return _both(min, a[0], b[0]), _either(min, a[1], b[1])
            return _either(max, a[0], b[0]), _both(max, a[1], b[1])
    return UNBOUNDED


def _both(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else choose(a, b)


def _either(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return choose(a, b)


def intersection(left: Interval, right: Interval) -> Interval:
    """Intersect two intervals."""
    return _either(max, left[0], right[0]), _either(min, left[1], right[1])


def simplify(expression: Expression, known: Intervals) -> Expression:
    """Simplify an integer expression or condition under the given intervals."""
    if isinstance(expression, Constant):
        value = expression.value
        return Constant(value if isinstance(value, bool) else int(value))
    if isinstance(expression, (Index, Parameter)):
        low, high = known.get(expression.name, UNBOUNDED)
        return Constant(low) if low is not None and low == high else expression
    if isinstance(expression, Operation):
        if expression.operator in COMPARISONS:
            return _comparison(expression, known)
        if expression.operator in (Operator.AND, Operator.OR, Operator.NOT):
            return _logical(expression, known)
    return linear_form(expression, known).expression()


def _comparison(expression: Operation, known: Intervals) -> Expression:
    left, right = (linear_form(operand, known) for operand in expression.operands)
    low, high = interval(left.plus(right, -1), known)
    match expression.operator:
        case Operator.LESS:
            verdict = _decide(high is not None and high < 0, low is not None and low >= 0)
        case Operator.LESS_EQUAL:
            verdict = _decide(high is not None and high <= 0, low is not None and low > 0)
        case _:
            apart = (high is not None and high < 0) or (low is not None and low > 0)
            same = low == high == 0
            verdict = _decide(same, apart)
            if verdict is not None and expression.operator is Operator.NOT_EQUAL:
                verdict = not verdict
    if verdict is not None:
        return Constant(verdict)
    return rebuild(expression, (left.expression(), right.expression()))


def _decide(holds: bool, fails: bool) -> bool | None:
    return True if holds else False if fails else None


def _logical(expression: Operation, known: Intervals) -> Expression:
    operands = [simplify(operand, known) for operand in expression.operands]
    if expression.operator is Operator.NOT:
        (only,) = operands
        return Constant(not only.value) if isinstance(only, Constant) else ~only
    absorbing = expression.operator is Operator.OR
    kept = [operand for operand in operands if operand != Constant(not absorbing)]
    if Constant(absorbing) in kept:
        return Constant(absorbing)
    if not kept:
        return Constant(not absorbing)
    return kept[0] if len(kept) == 1 else rebuild(expression, tuple(kept))
