"""Compare the results of a simplified kernel with those of the declared one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from polysched.autoscheduler.forms.simplification import with_simplification
from polysched.fuzz.judge.subject import random_arguments
from polysched.ir.core.kernel import Kernel
from polysched.ir.semantics.reference import run_reference
from polysched.legality.check import check
from polysched.schedule.schedule import Schedule

SIZES: Mapping[str, int] = {"n": 9, "m": 7}


def same_values(kernel: Kernel, sizes: Mapping[str, int] = SIZES) -> Kernel:
    """The simplified kernel, after comparing its results with the declared ones."""
    strict = replace(kernel, fp_contract=False)
    result = with_simplification(Schedule(strict))[0].program.kernel
    given = {name: sizes[name] for name in kernel.parameters}
    arguments = random_arguments(strict, given)
    with np.errstate(all="ignore"):
        expected = run_reference(strict, arguments, given)
        found = run_reference(result, arguments, given)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)
    assert check(Schedule(result)).is_legal
    return result
