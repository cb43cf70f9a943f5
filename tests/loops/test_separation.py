"""Loops cut in three: the same instances in the same order, and full vectors in the middle."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.expressions import Constant, Expression, Index, Operand
from polysched.ir.expr.functions import equal, maximum, minimum
from polysched.ir.expr.linear import simplify
from polysched.loops.generate import generate_loops
from polysched.loops.ir.nodes import Assign, For, If, LoopNode, block, walk
from polysched.loops.printers.pseudo import print_loops
from polysched.loops.separation import separate_tiles, simplified_where
from polysched.schedule.schedule import Schedule
from tests.loops.programs import array, assign, loop, n, program, vector
from tests.support.differential import assert_agrees
from tests.support.effort import cases
from tests.support.interpreting import interpret

KNOWN = {"n": (0, None)}
LANES = 4
v, w, x, u = Index("v"), Index("w"), Index("x"), Index("u")
WHOLE = (Constant(0), Constant(LANES))


def lanes(lower: Operand, upper: Operand, *body: LoopNode, variable: str = "w") -> For:
    return replace(vector(variable, lower, upper, *body), lanes=LANES)


def unrolled(variable: str, lower: Operand, upper: Operand, last: int, *body: LoopNode) -> For:
    made = loop(variable, lower, upper, *body, kind=LoopKind.UNROLLED)
    return replace(made, values=(0, last))


def run(statement: str, *instance: Expression) -> Assign:
    return assign("y", (0,), Constant(1.0, f32), statement, instance)


def order(body: LoopNode, size: int) -> list[tuple[str, tuple[int, ...]]]:
    """The instances that loops run, in order, as the interpreter finds them."""
    seen: list[tuple[str, tuple[int, ...]]] = []
    interpret(
        program([array("y", (1,), Role.OUTPUT)], body),
        {"y": np.zeros(1, np.float32)},
        {"n": size},
        observer=lambda statement, instance: seen.append((statement, instance)),
    )
    return seen


def cut(body: LoopNode, sizes: Sequence[int] = (0, 1, 3, 4, 7, 8, 21)) -> LoopNode:
    """What the pass makes, which runs the same instances in the same order."""
    made = separate_tiles(body, KNOWN)
    for size in sizes:
        assert order(made, size) == order(body, size)
    return made


def fixed(node: LoopNode, kind: LoopKind = LoopKind.VECTOR) -> list[For]:
    return [one for one in walk(node) if isinstance(one, For) and one.kind is kind]


def are_whole(node: LoopNode) -> list[bool]:
    return [(one.lower, one.upper) == WHOLE for one in fixed(node)]


def copies(node: LoopNode) -> int:
    return sum(isinstance(one, Assign) for one in walk(node))


def skewed(*body: LoopNode) -> For:
    """Lanes of ``x .. x + n``."""
    bounds = maximum(0, x - 4 * v), minimum(LANES - 1, n + x - 4 * v - 1) + 1
    return loop("v", x // 4, (n + x + 3) // 4, lanes(*bounds, *(body or (run("S", x, v, w),))))


def text(body: LoopNode) -> list[str]:
    printed = print_loops(program([array("y", (1,), Role.OUTPUT)], body))
    return printed.split("\n\n")[1].splitlines()


def test_loops_that_run_only_for_some_sizes_lose_the_code_of_others() -> None:
    full = loop("v", 0, n // LANES, lanes(*WHOLE, run("S", v, w)))
    body = If(n >= 8, full, lanes(0, minimum(n, LANES), run("S", Constant(0), w)))
    assert simplified_where(body, KNOWN, (n >= 9) & (n * n >= 200)) == full
    made = simplified_where(body, KNOWN, n >= 5)
    for size in (5, 7, 8, 21):
        assert order(made, size) == order(body, size)
    (_, partial) = fixed(made)
    assert (partial.lower, partial.upper) == WHOLE


def test_three_parts_in_order() -> None:
    assert text(separate_tiles(loop("x", 0, 9, skewed()), KNOWN)) == [
        "for x in 0..9:",
        "  for v in (x//4)..(min((n + x + 3)//4, -(-x//4))):",
        "    vector w in (x - 4*v)..(min(3, n + x - 4*v - 1) + 1):",
        "      y[0] = 1",
        "  for v in (max(x//4, -(-x//4)))..((n + x)//4):",
        "    vector w in 0..4:",
        "      y[0] = 1",
        "  for v in (max(max(x//4, -(-x//4)), (n + x)//4))..((n + x + 3)//4):",
        "    vector w in 0..(n + x - 4*v):",
        "      y[0] = 1",
    ]
    cut(loop("x", 0, 9, skewed()))


def test_a_loop_of_at_most_one_iteration_becomes_a_branch() -> None:
    made = cut(loop("v", 0, (n + 3) // 4, lanes(0, minimum(4, n - 4 * v), run("S", v, w))))
    assert text(made) == [
        "for v in 0..(n//4):",
        "  vector w in 0..4:",
        "    y[0] = 1",
        "if n//4 < (n + 3)//4:",
        "  vector w in 0..(n - 4*(n//4)):",
        "    y[0] = 1",
    ]


def test_conditions_that_a_part_implies_go() -> None:
    """Where vectors are full, ``v`` is less than ``x``; the diagonal is in the last part only."""
    inside: list[LoopNode] = [
        lanes(0, minimum(4, 4 * x - 4 * v), run("S", x, v, w)),
        If(equal(v, x), run("T", x, v)),
    ]
    made = cut(loop("x", 0, 5, loop("v", 0, x + 1, *inside)))
    full, last = fixed(made, LoopKind.SEQUENTIAL)[1:]
    assert not any(isinstance(one, If) for one in walk(full))
    assert any(isinstance(one, Assign) and one.statement == "T" for one in walk(last))


def test_an_end_that_is_never_needed_is_left_out() -> None:
    made = cut(loop("v", 0, (n + 3) // 4, lanes(0, minimum(4, n - 4 * v), run("S", v, w))))
    assert are_whole(made) == [True, False]


def test_where_all_vectors_of_a_loop_are_full() -> None:
    both = (
        lanes(maximum(0, 3 - 4 * v), minimum(4, n - 4 * v), run("S", v, w)),
        lanes(maximum(0, 5 - 4 * v), minimum(4, n + 1 - 4 * v), run("T", v, w)),
    )
    assert are_whole(cut(loop("v", 0, n // 4 + 1, *both))) == [False] * 2 + [True] * 2 + [False] * 2


def test_loops_that_do_not_occur_in_the_bounds_are_not_cut() -> None:
    inner = loop("u", 0, 3, lanes(0, minimum(4, n - 4 * v), run("S", v, u, w)))
    made = cut(loop("v", 0, (n + 3) // 4, inner))
    assert are_whole(made) == [True, False]
    assert [part.variable for part in fixed(made, LoopKind.SEQUENTIAL)] == ["v", "u", "u"]


def test_the_innermost_loop_in_the_bounds_is_cut() -> None:
    made = cut(loop("x", 0, 5, loop("v", 0, 5, lanes(0, minimum(4, n + x - 4 * v), run("S", w)))))
    assert [part.variable for part in fixed(made, LoopKind.SEQUENTIAL)] == ["x", "v", "v"]


def test_a_part_without_full_vectors_is_not_cut_further() -> None:
    bounds = maximum(0, 3 - x, 2 - v), minimum(4, n - x, n - 4 * v)
    made = cut(loop("x", 0, 9, loop("v", 0, 5, lanes(*bounds, run("S", x, v, w)))))
    assert are_whole(made) == [False, False, True, False, False]


def test_a_tail_of_one_dimension_leaves_the_other_alone() -> None:
    """Where ``x`` has no full vectors, copies along ``v`` still are all there."""
    tile = lanes(0, minimum(4, n - 4 * x), run("S", x, v, u, w))
    rows = unrolled("u", 0, minimum(2, n - 2 * v), 1, tile)
    made = cut(loop("x", 0, (n + 3) // 4, loop("v", 0, (n + 1) // 2, rows)))
    assert are_whole(made) == [True, True, False, False]
    all_copies = (Constant(0), Constant(2))
    found = [(one.lower, one.upper) == all_copies for one in fixed(made, LoopKind.UNROLLED)]
    assert found == [True, False, True, False]


def test_nests_grow_with_the_square_of_their_depth() -> None:
    names = [f"v{number}" for number in range(5)]
    bounds = [minimum(2, n - Index(name)) for name in names]
    body: LoopNode = run("S", *(Index(name) for name in names))
    for name, upper in zip(names, bounds, strict=True):
        body = unrolled(f"{name}u", maximum(0, 3 - Index(name)), upper, 1, body)
    for name in names:
        body = loop(name, 0, 9, body)
    assert copies(separate_tiles(body, KNOWN)) == 2 * len(names) ** 2 + 1


def test_a_parallel_loop_chooses() -> None:
    vectors = lanes(0, minimum(4, n - 4 * v), run("S", v, w))
    made = cut(loop("v", 0, (n + 3) // 4, vectors, kind=LoopKind.PARALLEL))
    assert isinstance(made, For)
    assert made.kind is LoopKind.PARALLEL
    assert isinstance(made.body, If)
    assert are_whole(made) == [True, False]


def test_vectors_in_unrolled_copies_are_full_where_all_are() -> None:
    """Tiles of 3 x 4: the loop of tiles decides for copies and lanes together."""
    inside = lanes(0, minimum(4, n - 12 * v - 4 * u), run("S", v, u, w))
    tiles = unrolled("u", 0, minimum(3, (n - 12 * v + 3) // 4), 2, inside)
    made = cut(loop("v", 0, (n + 11) // 12, tiles), (0, 5, 11, 12, 13, 24, 25))
    assert are_whole(made) == [True, False]
    first, second = fixed(made, LoopKind.UNROLLED)
    assert (first.lower, first.upper) == (Constant(0), Constant(3))
    assert (str(second.lower), str(second.upper)) == ("0", "(((n + 3) // 4) - (3 * (n // 12)))")


def test_masks_that_always_hold_go() -> None:
    inside = lanes(0, 4, If((4 * v + w < n) & (4 * v + w >= 3), run("S", v, w)))
    made = cut(loop("v", 0, (n + 3) // 4, inside))
    assert [isinstance(one.body, If) for one in fixed(made)] == [True, False, True]


@pytest.mark.parametrize("step", [2, 3])
def test_loops_in_steps(step: int) -> None:
    bounds = maximum(0, 5 - 4 * v), minimum(4, n - 4 * v)
    made = cut(loop("v", 1, (n + 3) // 4, lanes(*bounds, run("S", v, w)), step=step), range(40))
    assert are_whole(made) == [False, True, False]


@pytest.mark.parametrize(
    "body",
    [
        lanes(0, 3, run("S", v, w)),
        lanes(0, maximum(minimum(4, v), minimum(4, n - v)), run("S", v, w)),
        lanes(0, minimum(4, 5 + v // 3 * 2 - v), run("S", v, w)),
        replace(lanes(0, minimum(4, n - v), run("S", v, w)), step=2),
        If(v < n, lanes(0, 4, run("S", v, w))),
        loop("u", 0, minimum(4, n - v), run("S", v, u), kind=LoopKind.UNROLLED),
        If(v < n, run("S", v)),
    ],
    ids=[
        "never full",
        "a maximum above",
        "only a floor tells",
        "holes",
        "a condition of the loop",
        "no literal extent",
        "nothing fixed",
    ],
)
def test_what_cannot_be_told_is_left(body: LoopNode) -> None:
    whole = loop("v", 0, 9, body)
    assert text(separate_tiles(whole, KNOWN)) == text(whole)


def test_vectors_that_only_parameters_cut_make_two_versions() -> None:
    whole = loop("v", 0, 9, lanes(0, minimum(4, n), run("S", v, w)))
    assert text(separate_tiles(whole, KNOWN)) == [
        "if 4 <= n:",
        *(f"  {line}" for line in text(loop("v", 0, 9, lanes(0, 4, run("S", v, w))))),
        "else:",
        *(f"  {line}" for line in text(loop("v", 0, 9, lanes(0, n, run("S", v, w))))),
    ]


def test_full_vectors_stay() -> None:
    whole = loop("v", 0, n // 4, lanes(0, 4, run("S", v, w)))
    assert separate_tiles(whole, KNOWN) == whole


COEFFICIENTS = st.integers(-6, 6)


@st.composite
def linear(draw: st.DrawFn, *indices: Expression) -> Expression:
    terms = [draw(COEFFICIENTS) * index for index in indices]
    return simplify(sum(terms, Constant(draw(st.integers(-9, 9)))), {})


@st.composite
def nests(draw: st.DrawFn) -> LoopNode:
    """Loops ``x``, ``v`` and copies ``u`` around one or two vector loops of random bounds."""
    vectors = []
    for name in ("S", "T")[: draw(st.integers(1, 2))]:
        lower = [draw(linear(v, x, u, n)) for _ in range(draw(st.integers(0, 2)))]
        upper = [draw(linear(v, x, u, n)) for _ in range(draw(st.integers(0, 2)))]
        ends = maximum(0, Constant(0), *lower), minimum(LANES, Constant(LANES), *upper)
        vectors.append(lanes(simplify(ends[0], {}), simplify(ends[1], {}), run(name, x, v, u, w)))
    inner: LoopNode = unrolled("u", 0, minimum(2, n), 1, *vectors)
    if draw(st.booleans()):
        inner = If(draw(linear(v, x, n)) <= 0, inner)
    kind = draw(st.sampled_from([LoopKind.SEQUENTIAL, LoopKind.PARALLEL]))
    start = draw(st.integers(-3, 1))
    middle = loop("v", start, 9 - x, inner, step=draw(st.integers(1, 3)), kind=kind)
    return block([loop("x", 0, 4, middle)])


@settings(deadline=None, max_examples=cases(25))
@given(nests())
def test_random_nests_keep_their_instances_and_order(body: LoopNode) -> None:
    made = cut(body, (0, 1, 5))
    assert copies(made) <= 9 * copies(body)


def jacobi() -> Schedule:
    build = KernelBuilder("jacobi")
    size, sweeps = build.parameter("n", minimum=3), build.parameter("t", minimum=1)
    p, q = build.inout("p", i32, (size,)), build.inout("q", i32, (size,))
    with build.loops(s=sweeps):
        with build.loops(i=(1, size - 1)) as i, build.statement("there"):
            q[i] = p[i - 1] + p[i] + p[i + 1]
        with build.loops(i=(1, size - 1)) as i, build.statement("back"):
            p[i] = q[i - 1] + q[i] + q[i + 1]
    schedule = Schedule(build.kernel()).shift("back.i", 1).fuse("there.i", "back.i")
    return (
        schedule.skew("i", by="s", factor=2)
        .tile(("s", "i"), (4, 16), ("so", "io"), ("si", "ii"))
        .vectorize("ii", LANES)
        .skew("io", by="so")
        .reorder("io", "so")
        .parallel("so")
    )


def test_skewed_tiles_of_parametric_size() -> None:
    schedule = jacobi()
    body = generate_loops(schedule.program).body
    assert are_whole(body) == [False] * 2 + [True] * 2 + [False] * 2
    assert [one.loop for one in fixed(body, LoopKind.PARALLEL)] == ["so"]
    assert_agrees(schedule, *({"n": n, "t": t} for n, t in ((3, 1), (9, 5), (40, 3), (67, 9))))
