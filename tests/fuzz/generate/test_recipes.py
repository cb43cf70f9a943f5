import random
from collections import Counter

from polysched.errors import KernelError, ScheduleError
from polysched.fuzz.generate.choosing import MANY_LANES, Choosing
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.recipes import RECIPES, random_recipe
from polysched.fuzz.generate.sketch import declare
from polysched.schedule.schedule import Schedule


def test_every_recipe_fits_as_a_whole_now_and_then() -> None:
    whole: Counter[str] = Counter()
    for seed in range(150):
        if all(whole[name] >= 2 for name in RECIPES):
            break
        integers = random.Random(seed).randint
        try:
            start = Schedule(declare(random_sketch(integers)))
        except KernelError:
            continue
        for name, recipe in RECIPES.items():
            schedule, steps = start, recipe(Choosing(integers, start.program, 0, MANY_LANES))
            try:
                for step in steps:
                    schedule = schedule.then(step)
            except ScheduleError:
                continue
            whole[name] += bool(steps)
    assert {name for name in RECIPES if whole[name] < 2} == set(), whole


def test_all_are_drawn() -> None:
    start = Schedule(declare(random_sketch(random.Random(1).randint)))
    firsts = {
        type(random_recipe(Choosing(random.Random(seed).randint, start.program, 0))[0]).__name__
        for seed in range(40)
    }
    assert {"Tile", "Parallel", "Split"} <= firsts
