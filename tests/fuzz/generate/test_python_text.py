import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polysched.errors import KernelError
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.limits import Limits, machine_limits
from polysched.fuzz.generate.python_text import python_expression, script
from polysched.fuzz.generate.randomness import Integers
from polysched.fuzz.generate.sketch import declare
from polysched.ir.core.kernel import Kernel, access_relation
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Expression, Load
from polysched.ir.expr.functions import absolute, cast, equal, maximum, not_equal, select
from polysched.ir.expr.traversal import transform
from polysched.schedule.primitives.reverse import Reverse
from polysched.schedule.primitives.split import Split
from tests.fuzz.judging import APART, INDEX, PREFIX, N, element
from tests.support.effort import cases


def run(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "script", "exec"), names)
    return names


def operations(value: Expression) -> Expression:
    """The value without the subscripts, in which Python adds up numbers."""
    return transform(
        value, lambda node: replace(node, subscripts=()) if isinstance(node, Load) else None
    )


def same(one: Kernel, other: Kernel) -> bool:
    """Whether two kernels have the same arrays, domains, accesses, values and reductions."""
    if dict(one.arrays) != dict(other.arrays) or one.fp_contract != other.fp_contract:
        return False
    return list(one.statements) == list(other.statements) and all(
        first.domain.is_equal(second.domain)
        and first.reduction == second.reduction
        and operations(first.value) == operations(second.value)
        and len(first.accesses) == len(second.accesses)
        and all(
            access_relation(first, mine).is_equal(access_relation(second, its))
            for mine, its in zip(first.accesses, second.accesses, strict=True)
        )
        for first, second in zip(one.statements.values(), other.statements.values(), strict=True)
    )


@pytest.mark.parametrize("draw", [lambda _: Limits(), machine_limits])
def test_the_script_declares_the_kernel(
    draw: Callable[[Integers], Limits], capsys: pytest.CaptureFixture[str]
) -> None:
    seen = 0
    for seed in range(cases(20)):
        integers = random.Random(seed).randint
        sketch = random_sketch(integers, draw(integers))
        try:
            kernel = declare(sketch)
        except KernelError:
            continue
        seen += 1
        assert same(run(script(sketch, ()))["kernel"], kernel), seed
    assert seen > cases(20) // 3
    assert "legal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ((INDEX - (N - 1)) * 2, "(i - (N - 1)) * 2"),
        (-(INDEX + 1) % 3, "(-(i + 1)) % 3"),
        ((INDEX < N) & ~(N <= INDEX), "(i < N) & (~(N <= i))"),
        (equal(INDEX, 0) | not_equal(INDEX // 2, N), "equal(i, 0) | not_equal(i // 2, N)"),
        (
            select(INDEX < 1, maximum(INDEX, N), absolute(INDEX)),
            "select(i < 1, maximum(i, N), absolute(i))",
        ),
        (cast(INDEX, i32) + element("A", INDEX + 1), "cast(i, 'i32') + A[i + 1]"),
        (INDEX - (-1), "i - (-1)"),
    ],
)
def test_expressions(expression: Expression, text: str) -> None:
    assert python_expression(expression) == text


def test_the_script_runs_as_it_is() -> None:
    text = script(PREFIX, (Split("i", 4, None), Reverse("ii")), comment="two\nlines")
    assert text.startswith("# two\n# lines\n")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("illegal illegal: reverse(loop='ii') breaks a flow dependence")


def test_without_steps(capsys: pytest.CaptureFixture[str]) -> None:
    run(script(APART, ()))
    assert capsys.readouterr().out == "legal \n"
