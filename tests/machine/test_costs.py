import ast
import inspect
import itertools
from dataclasses import fields

import pytest

from polysched.errors import MachineError
from polysched.machine import costs
from polysched.machine.costs import Costs


def test_every_cost_is_positive() -> None:
    for field in fields(Costs):
        with pytest.raises(MachineError, match=rf"costs: {field.name} is 0; expected a positive"):
            Costs(**{field.name: 0})


def test_every_cost_says_what_it_is() -> None:
    (body,) = [
        node.body
        for node in ast.parse(inspect.getsource(costs)).body
        if isinstance(node, ast.ClassDef)
    ]
    for node, after in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign):
            assert isinstance(after, ast.Expr), ast.unparse(node)
            assert isinstance(after.value, ast.Constant), ast.unparse(node)
