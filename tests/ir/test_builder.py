from collections.abc import Callable
from pathlib import Path

import islpy as isl
import pytest

from polysched.errors import KernelError
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import f32, i32
from polysched.ir.expressions import Index, Operator, cast, equal, maximum
from polysched.ir.kernel import Kernel, Order, Reduction, Role, Statement
from polysched.ir.tree import Leaf, Loop, Sequence


def saxpy() -> Kernel:
    build = KernelBuilder("saxpy")
    n = build.parameter("n", minimum=1, maximum=100)
    x, y = build.input("x", f32, (n,)), build.inout("y", f32, n)
    with build.loops(i=n) as i:
        y[i] = 2 * x[i] + y[i]
    return build.kernel()


def single(declare: Callable[[KernelBuilder], None]) -> Statement:
    """The one statement that ``declare`` adds to a kernel with parameter n."""
    build = KernelBuilder("k")
    declare(build)
    (statement,) = build.kernel().statements.values()
    return statement


def test_a_kernel_holds_what_was_declared() -> None:
    kernel = saxpy()
    assert (kernel.name, kernel.parameters) == ("saxpy", ("n",))
    assert kernel.context.is_equal(isl.Set("[n] -> { : 1 <= n <= 100 }"))
    assert [(a.name, a.role, a.dtype) for a in kernel.arrays.values()] == [
        ("x", Role.INPUT, f32),
        ("y", Role.INOUT, f32),
    ]
    statement = kernel.statements["y"]
    assert statement.indices == ("i",)
    assert statement.domain.is_equal(isl.Set("[n] -> { y[i] : 0 <= i < n <= 100 }"))
    assert str(statement) == "y: y[i] = (y[i] + (2.0 * x[i]))"
    assert [*map(str, statement.accesses)] == ["y[i]", "y[i]", "x[i]"]


def test_locations_are_the_users_lines() -> None:
    kernel = saxpy()
    line = saxpy.__code__.co_firstlineno
    location = kernel.statements["y"].location
    assert location is not None
    assert Path(location.file).name == "test_builder.py"
    assert location.line == line + 5
    assert kernel.location is not None
    assert kernel.location.line == line + 1
    assert kernel.arrays["x"].location is not None
    assert kernel.arrays["x"].location.line == line + 3


def test_the_body_is_the_nest_as_written() -> None:
    build = KernelBuilder("k")
    a, s = build.output("a", i32, (4, 4)), build.output("s", i32, ())
    s[()] = 0
    with build.loops(i=4) as i:
        a[i, 0] = 1
        with build.loops(j=(1, 4)) as j:
            a[i, j] = 2
    body = build.kernel().body
    assert isinstance(body, Sequence)
    first, outer = body.children
    assert isinstance(first, Leaf)
    assert isinstance(outer, Loop)
    assert (outer.name, list(outer.values)) == ("i", ["a", "a_2"])
    assert isinstance(outer.body, Sequence)
    leaf, inner = outer.body.children
    assert isinstance(leaf, Leaf)
    assert isinstance(inner, Loop)
    assert (leaf.statement, inner.name, list(inner.values)) == ("a", "j", ["a_2"])


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (10, "0 <= i < 10"),
        ((2, 10), "2 <= i < 10"),
        ((2, 10, 3), "2 <= i < 10 and (i - 2) mod 3 = 0"),
        ((-4, 0), "-4 <= i < 0"),
        ((5, 5), "1 = 0"),
    ],
)
def test_bounds(bound: object, expected: str) -> None:
    def declare(build: KernelBuilder) -> None:
        a = build.output("a", i32, (20,))
        with build.loops(i=bound) as i:  # type: ignore[arg-type]
            a[i + 4] = 0

    assert single(declare).domain.is_equal(isl.Set(f"{{ a[i] : {expected} }}"))


def test_triangular_bounds_and_conditions() -> None:
    def declare(build: KernelBuilder) -> None:
        n = build.parameter("n")
        a = build.output("a", i32, (n, n))
        with build.loops(i=n, j=(0, Index("i") + 1)) as (i, j), build.where(equal(j % 2, 0)):
            a[i, j] = 0

    expected = isl.Set("[n] -> { a[i, j] : 0 <= j <= i < n and j mod 2 = 0 }")
    assert single(declare).domain.is_equal(expected)


def reduction_of(build_value: Callable[..., object], order: str = "exact") -> Reduction | None:
    def declare(build: KernelBuilder) -> None:
        a, s = build.input("a", f32, (8,)), build.inout("s", f32, ())
        with build.loops(i=8) as i, build.statement("S", order=order):
            s[()] = build_value(s[()], a[i], s[()])  # type: ignore[assignment]

    return single(declare).reduction


@pytest.mark.parametrize(
    ("value", "operator"),
    [
        (lambda s, a, _: s + a, Operator.ADD),
        (lambda s, a, _: a + s, Operator.ADD),
        (lambda s, a, _: s - a, Operator.ADD),
        (lambda s, a, _: a * s, Operator.MULTIPLY),
        (lambda s, a, _: maximum(s, a), Operator.MAXIMUM),
    ],
)
@pytest.mark.parametrize("order", ["exact", "any"])
def test_reductions_are_recognised(
    value: Callable[..., object], operator: Operator, order: str
) -> None:
    reduction = reduction_of(value, order)
    assert reduction is not None
    assert (reduction.operator, reduction.order, reduction.read) == (operator, Order(order), 1)


@pytest.mark.parametrize(
    "value",
    [
        lambda s, a, _: a - s,
        lambda s, a, again: s + a * again,
        lambda s, a, _: a + 1,
        lambda s, a, _: s / a,
        lambda s, a, _: -s,
    ],
)
def test_what_is_no_reduction(value: Callable[..., object]) -> None:
    assert reduction_of(value) is None
    with pytest.raises(KernelError, match="statement 'S' is not a reduction: order='any' needs"):
        reduction_of(value, "any")


def test_arrays_have_named_dimensions() -> None:
    build = KernelBuilder("k")
    n = build.parameter("n")
    build.temporary("t", f32, (n, n + 1), dimensions="row column")
    out = build.output("out", f32, (1,))
    out[0] = 0
    array = build.kernel().arrays["t"]
    assert array.dimensions == ("row", "column")
    assert array.stored_shape == (n, n + 1)


def test_assumptions_restrict_the_context() -> None:
    build = KernelBuilder("k")
    n, m = build.parameter("n"), build.parameter("m", minimum=None)
    build.assume(n < m)
    out = build.output("out", f32, (1,))
    out[0] = 0
    assert build.kernel().context.is_equal(isl.Set("[n, m] -> { : 0 <= n < m }"))


def test_an_assumption_holds_for_the_statements_before_it() -> None:
    build = KernelBuilder("k")
    n = build.parameter("n")
    out = build.output("out", f32, (n,))
    with build.loops(i=n) as i:
        out[i] = 0
    build.assume(n <= 5)
    (statement,) = build.kernel().statements.values()
    assert statement.domain.is_equal(isl.Set("[n] -> { out[i] : 0 <= i < n <= 5 }"))


def test_what_reads_other_elements_of_its_target_is_no_reduction() -> None:
    build = KernelBuilder("k")
    out = build.inout("out", f32, (9,))
    with build.loops(i=(1, 9)) as i, build.statement("S"):
        out[i] = out[i] + out[i - 1]
    assert build.kernel().statements["S"].reduction is None


def test_a_loop_without_statements_is_nothing() -> None:
    build = KernelBuilder("k")
    out = build.output("out", f32, (1,))
    with build.loops(i=4):
        pass
    out[0] = 0
    assert list(build.kernel().statements) == ["out"]


def faulty(build: KernelBuilder) -> dict[str, Callable[[], object]]:
    """Declarations with one fault each, by the message they must give."""
    n = build.parameter("n", minimum=1)
    x = build.input("x", f32, (n, 4), dimensions="row column")
    y = build.output("y", f32, (n,))

    def store(value: object, subscript: object = 0) -> None:
        y[subscript] = value  # type: ignore[index, assignment]

    def write_to_input() -> None:
        x[0, 0] = 1

    def open_loops(**bounds: object) -> None:
        with build.loops(**bounds):  # type: ignore[arg-type]
            pass

    def open_statement(name: str, *stores: int, order: str = "exact") -> None:
        with build.statement(name, order=order):
            for value in stores:
                store(value)

    return {
        "array 'x' has 2 dimensions (row, column); it is subscripted with 1": lambda: x[0],
        "subscript of array 'x': '(n * n)' is not affine": lambda: x[n * n, 0],
        "subscript of array 'x': index 'q' is not in scope here": lambda: x[Index("q"), 0],
        "array 'x' is an input; declare it inout to write to it": write_to_input,
        "stores i64 into array 'y' of f32; convert with cast(value, f32)": lambda: store(n + 1),
        "index 'q' is used in statement 'y' outside its loop": lambda: store(cast(Index("q"), f32)),
        "parameter 'n': the name is taken already in kernel 'k'": lambda: build.parameter("n"),
        "array 'y': the name is taken already": lambda: build.input("y", f32, (1,)),
        "array name '2x' is not an identifier": lambda: build.input("2x", f32, (1,)),
        "kernel name 'a b' is not an identifier": lambda: KernelBuilder("a b"),
        "unknown element type 'f33'; did you mean 'f32'?": lambda: build.input("z", "f33", (1,)),
        "'(n * n)' is not affine": lambda: build.input("z", f32, (n * n,)),
        "array 'z' has 1 dimensions; dimensions='a b' must give each": lambda: build.input(
            "z", f32, (1,), dimensions="a b"
        ),
        "loops() needs at least one index": open_loops,
        "index 'n': the name is in use already": lambda: open_loops(n=4),
        "step of loop 'i' is 0; expected a positive integer": lambda: open_loops(i=(0, 4, 0)),
        "bound of loop 'i': expected an extent": lambda: open_loops(i=(0, 4, 1, 1)),
        "unknown order policy 'some' of statement 'S'": lambda: open_statement("S", order="some"),
        "statement 'S' holds no assignment": lambda: open_statement("S"),
        "statement 'T' holds more than one assignment": lambda: open_statement("T", 1, 2),
    }


MESSAGES = list(faulty(KernelBuilder("k")))


@pytest.mark.parametrize("message", MESSAGES)
def test_faulty_declarations(message: str) -> None:
    declaration = faulty(KernelBuilder("k"))[message]
    with pytest.raises(KernelError) as caught:
        declaration()
    assert message in str(caught.value)


def test_faulty_kernels() -> None:
    with pytest.raises(KernelError, match="kernel 'k' has no statements"):
        KernelBuilder("k").kernel()
    build = KernelBuilder("k")
    build.parameter("n", minimum=5, maximum=4)
    y = build.output("y", f32, (1,))
    with pytest.raises(KernelError, match="assumptions about the parameters of kernel 'k'"):
        y[0] = 0


def test_a_kernel_asked_for_inside_a_loop() -> None:
    build = KernelBuilder("k")
    y = build.output("y", f32, (4,))
    with build.loops(i=4) as i:
        y[i] = 0
        with pytest.raises(KernelError, match="is asked for inside a loop that is still open"):
            build.kernel()


def test_nested_and_repeated_statement_names() -> None:
    build = KernelBuilder("k")
    y = build.output("y", f32, (4,))
    inner, again = build.statement("T"), build.statement("S")
    with build.statement("S"):
        y[0] = 0
        with pytest.raises(KernelError, match="statement 'T' is opened inside statement 'S'"):
            inner.__enter__()
    with pytest.raises(KernelError, match="a statement is named 'S' already"):
        again.__enter__()
