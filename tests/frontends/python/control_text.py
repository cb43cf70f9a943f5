"""Random statements: loops that are left, masks, ``out=``, arrays of lists, early returns."""

from __future__ import annotations

from typing import Protocol


class Picker(Protocol):
    """What chooses."""

    def pick(self, options: list[str]) -> str:
        """Choose one."""

    def new(self, hint: str) -> str:
        """A name that no variable has."""


TESTS = ["x[{i}] > 2", "y[{i}] < 0", "{i} > 3", "x[{i}] == y[{i}]", "a[{i}, 0] > x[{i}]"]
STORES = [
    "x[{i}] = y[{i}]",
    "y[{i}] += x[{i}]",
    "a[{i}, 1] = a[{i}, 0]",
    "x[{i}] -= 1",
    "b[{i}] = a[{i}] + 1",
]


def control(writer: Picker) -> list[str]:
    """A loop that is left, or continued, on conditions over data and indices."""
    i = writer.new("i")
    test, other = (writer.pick(TESTS).format(i=i) for _ in range(2))
    first, second, third = (writer.pick(STORES).format(i=i) for _ in range(3))
    leave = writer.pick(["break", "continue"])
    shapes = {
        "plain": [f"if {test}:", f"    {leave}", first],
        "after": [first, f"if {test}:", f"    {second}", f"    {leave}", third],
        "else": [f"if {test}:", f"    {first}", "else:", f"    {leave}", second],
        "two": [f"if {test}:", "    continue", first, f"if {other}:", "    break", second],
        "deep": [f"if {test}:", f"    if {other}:", f"        {leave}", f"    {first}", second],
        "inner": [
            f"for j{i} in range(3):",
            f"    if a[{i}, j{i}] > x[{i}]:",
            f"        {leave}",
            f"    a[{i}, j{i}] += 1",
            f"if {test}:",
            "    break",
            second,
        ],
    }
    body = shapes[writer.pick(list(shapes))]
    lines = [f"for {i} in range(n):", *(f"    {line}" for line in body)]
    if writer.pick(["", "else"]):
        lines += ["else:", "    y[0] = 1"]
    return lines


def stores(writer: Picker) -> list[str]:
    """Statements that store whole arrays."""
    name, value = writer.new("w"), writer.new("v")
    return writer.pick(
        [
            "np.add(x, y, out=x)",
            "np.multiply(a, 2, out=a)",
            "np.maximum(x[1:], x[:-1], out=x[1:])",
            "np.negative(y, out=y)",
            "x[y > 1] = x[y > 1] + y[y > 1]",
            "a[a < b] = -b[a < b]",
            "y[y >= 2] -= 1",
            "b[~(b > 0)] += 3",
            f"{value} = x > y\nx[{value}] = y[{value}] * 2",
            f"{name} = np.array([1, 2, 3])\nx[:3] = x[:3] * {name}",
            f"{name} = np.array([x[0], x[1]])\n{name}[0] += 1\ny[:2] = {name}",
            f"{name} = np.array([[1, 0], [2, 1]], dtype=x.dtype)\nx[1] = {name}[1, 0]",
            f"{name} = {value} = x + 1\n{name}[0] = 5\ny[:] = {value}",
            f"{name} = np.array([3, 0, 3, -1])\nx[{name}] += y[{name}]",
            f"{name} = np.array([3, 0, 3, 1])\na[{name}, np.arange(4)] = y[{name}] + b[1, {name}]",
            f"{name} = np.arange(4)[::-1] // 2\nx[:4] = a[{name}, {name} + 1]\na[{name}, 1] -= 1",
            f"{name} = np.array([2, 0])\nb[{name}[:, None], {name}] = a[{name}][:, 1:3] * 2",
            "x[x > 1] = np.minimum(x[x > 1], y[x > 1]) + abs(y[x > 1])",
            f"for {value} in (x * 2)[::-1]:\n    y[0] += {value}",
            f"for {name}, {value} in zip(a.ravel(), x + y):\n    y[1] += {name} * {value}",
            f"for {value} in a.ravel():\n    y[2] += {value}",
            "x[0] = a[b > 0].max()\ny[0] = x[x < y].sum()",
            f"if x.dtype == {value}.dtype:\n    x[0] = 1\nelse:\n    y[0] = 2".replace(value, "b"),
            "x[1] = x[0] if y.dtype in (np.float32, np.int32) else y[0]",
            "x[0] = np.logical_and(x[0] > 1, y[0] > 1)",
            "a[:] = np.where(np.greater(a, b), a, b)",
        ]
    ).split("\n")


def results(writer: Picker) -> list[str]:
    """The last statements: a result found by a search, of a branch, or a view."""
    test = writer.pick(["x[i] > 2", "y[i] == x[i]", "a[i, 0] < 0"])
    return writer.pick(
        [
            f"for i in range(n):\n    if {test}:\n        return i\nreturn -1",
            f"for i in range(n):\n    if {test}:\n        return x[i]\nreturn y[0]",
            "for i in range(n):\n    for j in range(m):\n        if a[i, j] > 4:\n"
            "            return i, j\nreturn n, m",
            "if x[0] > y[0]:\n    return x[1]\nif n > 6:\n    return y[1]\nreturn x[0]",
            "return x[1:], a.T, b[::-1, 1]",
            "return a[1:-1, ::2]",
            "z = b[1]\nreturn z, x",
        ]
    ).split("\n")
