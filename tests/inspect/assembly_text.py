"""Functions and loops of assembly text."""

import textwrap

from polysched.inspect.assembly import Function, Loop, hot_loop, parse


def only(assembly: str) -> Function:
    (function,) = parse(textwrap.dedent(assembly))
    return function


def hot(function: Function) -> Loop:
    loop = hot_loop(function)
    assert loop is not None
    return loop
