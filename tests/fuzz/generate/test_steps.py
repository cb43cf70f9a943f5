import random
from collections import Counter

from polysched.errors import KernelError, ScheduleError
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.sketch import declare
from polysched.fuzz.generate.steps import ORDER_MAKERS, PROGRAM_MAKERS, only_reorders, random_step
from polysched.ir.core.tree import TransposeStrategy
from polysched.schedule.primitives.compute_at import ComputeAt
from polysched.schedule.primitives.inline import Inline
from polysched.schedule.primitives.tensorize import Tensorize
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import PRIMITIVES
from tests.support.kernels import chain


def test_every_primitive_has_a_maker() -> None:
    """A new primitive is fuzzed only once steps.py can make it: add it to one of the tables."""
    assert ORDER_MAKERS.keys() | PROGRAM_MAKERS.keys() == PRIMITIVES.keys()
    assert ORDER_MAKERS.keys() & PROGRAM_MAKERS.keys() == {ComputeAt}


def test_every_primitive_is_tried_and_fits_now_and_then() -> None:
    tried: Counter[str] = Counter()
    fits: Counter[str] = Counter()
    names = {primitive.__name__ for primitive in PRIMITIVES}
    unlikely = {Transpose.__name__, Tensorize.__name__, Inline.__name__}
    for seed in range(400):
        if all(tried[name] >= 5 and fits[name] >= 2 for name in names - unlikely):
            break
        integers = random.Random(seed).randint
        try:
            schedule = Schedule(declare(random_sketch(integers)))
        except KernelError:
            continue
        for _ in range(4):
            step = random_step(integers, schedule, buffers=True)
            tried[type(step).__name__] += 1
            try:
                schedule = schedule.then(step)
            except ScheduleError:
                continue
            fits[type(step).__name__] += 1
            reorders = all(
                after is before  # as where there is nothing to simplify
                or (type(one) in ORDER_MAKERS and not getattr(one, "recompute", False))
                for one, before, after in zip(
                    schedule.steps, schedule.programs[:-1], schedule.programs[1:], strict=True
                )
            )
            assert only_reorders(schedule) == reorders, step
    assert {name for name in names if tried[name] < 5} == set()
    assert {name for name in names if fits[name] < 2} <= unlikely


def test_transpositions_fit_where_a_vector_is_in_an_unrolled_loop() -> None:
    schedule = Schedule(chain(8, 8)).vectorize("P.j", 4).unroll("P.i")
    random_integers = random.Random(0).randint
    steps = [random_step(random_integers, schedule, buffers=False) for _ in range(400)]
    tried = [step for step in steps if isinstance(step, Transpose)]
    assert len({step.strategy for step in tried}) == len(TransposeStrategy)
    for step in tried:
        assert schedule.then(step).steps[-1] == step


def test_without_buffers_the_statements_stay() -> None:
    integers = random.Random(0).randint
    schedule = Schedule(declare(random_sketch(integers)))
    for _ in range(60):
        assert type(random_step(integers, schedule, buffers=False)) in ORDER_MAKERS
