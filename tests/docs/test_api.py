"""The API reference lists every public name."""

import inspect
import re
from pathlib import Path

import polysched as ps

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def test_every_public_function_and_class_is_listed() -> None:
    text = "".join(path.read_text() for path in sorted(REFERENCE.glob("*.md")))
    listed = set(re.findall(r"auto(?:function|class):: (\w+)", text))
    public = {name: getattr(ps, name) for name in ps.__all__ if not name.startswith("_")}
    missing = {
        name
        for name, value in public.items()
        if (callable(value) or inspect.isclass(value))
        and not (inspect.isclass(value) and issubclass(value, Exception))
    } - listed
    assert not missing, "list them in docs/reference/api.md"
