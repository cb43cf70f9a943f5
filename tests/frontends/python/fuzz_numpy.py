"""Random functions in numpy's style, run by numpy and compiled by ``ps.jit``.

``python -m tests.frontends.python.fuzz_numpy --seconds 60``: the bits have to be equal. What is
refused has to be refused by an error of polysched's own.
"""

from __future__ import annotations

import random
import traceback
import warnings
from functools import partial
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

import polysched as ps
from polysched.errors import FrontendError, PolyschedError
from polysched.frontends.python import specializations
from tests.frontends.python.fuzz import made
from tests.frontends.python.numpy_text import TYPES, Writer
from tests.support.random_sources import Findings, run, seconds_option, seed_option

SHAPES = ((6, 7), (7, 5))


def try_seeds(seeds: range) -> Findings:
    """Compare what the functions of some seeds compute in numpy and compiled."""
    findings = Findings()
    for seed in seeds:
        _try_seed(seed, findings)
    return findings


def _try_seed(seed: int, findings: Findings) -> None:
    choice = random.Random(seed)
    types = _types(choice)
    text = Writer(choice, is_unsigned=types[0].startswith("u")).function()
    findings.counts["functions"] += 1
    function = made(text, f"random numpy function {seed}")
    compiled = ps.jit(function)
    for shape in SHAPES:
        given = _arguments(seed, types, shape)
        expected = _outcome(function, given)
        if isinstance(expected, Exception):
            findings.counts["numpy raises"] += 1
            continue
        found = _outcome(compiled, given)
        if isinstance(found, FrontendError):
            findings.refuse(str(seed), found, text)
            return
        if isinstance(found, PolyschedError):
            findings.counts["refused late"] += 1
            return
        findings.counts["calls"] += 1
        problem = (
            ""
            if not isinstance(found, Exception)
            else "".join(traceback.format_exception(found, limit=-4))
        )
        problem = problem or different(expected, found)
        if problem:
            findings.wrong.append(f"{seed}: {types} {shape}: {problem}\n{text}")
            return


def _types(choice: random.Random) -> list[str]:
    """Types between which no float is converted to an integer, which is not promised to agree."""
    kind = choice.choice(["float", "int", "one"])
    if kind == "one":
        return [choice.choice(TYPES)] * 4
    return [choice.choice([one for one in TYPES if one.startswith(kind)]) for _ in range(4)]


def _arguments(seed: int, types: list[str], shape: tuple[int, int]) -> list[Any]:
    generator = np.random.default_rng(seed)
    shapes = (shape[:1], shape[:1], shape, shape)
    given = []
    for name, extents in zip(types, shapes, strict=True):
        dtype = np.dtype(name)
        low = 0 if dtype.kind == "u" else -6
        values: Any = generator.integers(low, 9, extents)
        if dtype.kind == "f":
            values = generator.standard_normal(extents) * 3
        values = values.astype(dtype)
        if dtype.kind != "f" and generator.random() < 0.3:
            values.flat[0] = np.iinfo(dtype).max
        given.append(values)
    return given


def _outcome(function: Any, given: list[Any]) -> Any:
    """The arguments after a call and what it returns, or the error that it raises."""
    arguments = [value.copy() for value in given]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            returned = function(*arguments)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is compared)
            return error
    return [*arguments, *(returned if isinstance(returned, tuple) else (returned,))]


def different(expected: list[Any], found: list[Any]) -> str:
    """How results differ: in number, type, shape or bits."""
    if len(expected) != len(found):
        return f"{len(expected)} results, found {len(found)}"
    for position, (one, other) in enumerate(zip(expected, found, strict=True)):
        if type(one) is not type(other):
            return f"result {position}: {type(one)} {one}, found {type(other)} {other}"
        try:
            np.testing.assert_array_equal(np.asarray(other), np.asarray(one), strict=True)
        except AssertionError as error:
            return f"result {position}: {error}"
    return ""


@click.command()
@seconds_option
@seed_option
@click.option("--unscheduled", is_flag=True, help="Run the loops as written: many more functions.")
def main(seconds: float, seed: int, unscheduled: bool) -> None:
    """Compare random functions with numpy; the exit code is 1 if any differs."""
    if unscheduled:
        specializations.schedule_request = lambda kernel, **_: SimpleNamespace(
            schedule=partial(ps.Schedule, kernel)
        )
    run(try_seeds, seconds, seed)


if __name__ == "__main__":
    main()
