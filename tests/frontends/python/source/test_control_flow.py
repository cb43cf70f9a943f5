"""``break``, ``continue``, ``else`` of loops and early ``return``, compared with Python."""

import numpy as np
import pytest

import polysched as ps
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


def broken(x):
    total = 0.0 * x[0]
    for i in range(len(x)):
        if x[i] > 3:
            break
        total += x[i]
    return total


def continued(x):
    total = 0.0 * x[0]
    for i in range(len(x)):
        if x[i] > 3:
            continue
        total += x[i]
    return total


def nested(x):
    count = 0
    for i in range(len(x)):
        for j in range(len(x)):
            if j > i:
                break
            if x[j] < 2:
                continue
            x[i] += x[j]
            if x[i] > 7:
                break
            count += 1
        if count > 6:
            continue
        x[i] += 1
    return count


def several_ways(x):
    count = 0
    for i in range(len(x)):
        if x[i] > 2:
            if x[i] > 4:
                break
            count += 1
        count += 10
    count += 100
    for i in range(len(x)):
        if x[i] > 1:
            continue
        count += 1000
    return count


def found(x):
    for i in range(len(x)):
        if x[i] > 3:
            return i
    return -1


def found_pair(x):
    for i in range(len(x)):
        for j in range(i):
            if x[i] == 2 * x[j]:
                return i, j
    return -1, -1


def found_or_first(x):
    for i in range(len(x)):
        if x[i] > 300:
            return x[i]
    return x[0] + 1


def returned_for_sizes(x):
    if len(x) > 3:
        return x[0]
    return x[1]


def returned_for_values(x):
    if x[0] > 3:
        return x[0] * 2
    total = x[0]
    for i in range(len(x)):
        total += x[i]
    return total


def returned_without_value(x):
    if x[0] > 100:
        return
    x[1] = 7


def with_else(x):
    at = 0
    for i in range(len(x)):
        if x[i] == 4:
            at = i
            break
    else:
        at = -5
    return at


def last_values(x):
    v, at, k = 0.0, 0, 0
    for at, v in enumerate(x, 1):
        if v > 2 or at > 8:
            break
    for k in (3, 1, 4):
        if x[k] > 1:
            break
    return v, at, k


def continued_in_else(x):
    count = 0
    for i in range(len(x)):
        for j in range(i):
            if x[j] > 2:
                break
        else:
            count += 1
            continue
        count += 100
    return count


def changed_by_a_view(x):
    for i in range(len(x) // 2):
        v = x
        v[i] += 1
    for i in range(len(x)):
        if x[i] > 3:
            v = x
            v[i] = -1
            x[0] += 5


def exchanged(x):
    if len(x) >= 2:
        x[0], x[1] = x[1], x[0]
        x[1], x[0] = x[:2]


def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return i
    return len(x)


def inlined(x):
    return first_above(x, 2) + first_above(x, 4)


FUNCTIONS = [
    broken, continued, nested, several_ways, found, found_pair, found_or_first, returned_for_sizes,
    returned_for_values, returned_without_value, with_else, inlined,
    last_values, continued_in_else, changed_by_a_view, exchanged,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_results_as_in_python(function) -> None:
    compiled = ps.jit(function)
    rising = np.arange(1.0, 6.0)
    for x in (rising, rising - 9, rising[::-1].copy(), rising * 100):
        require_same_results(compiled, function, x)
