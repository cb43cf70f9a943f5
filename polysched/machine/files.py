"""Machine descriptions as TOML files: a key per field of `Machine`, tables of caches and costs."""

import dataclasses
import tomllib
import types
import typing
from pathlib import Path

import tomli_w

from polysched.errors import MachineError, suggestion
from polysched.machine.costs import Costs
from polysched.machine.description import Cache, Machine


def save(machine: Machine, path: Path) -> None:
    """Write `machine` to `path`; `load` reads it back as an equal value.

    Raises `MachineError` if the file cannot be written.
    """
    try:
        path.write_text(to_toml(machine), encoding="utf-8")
    except OSError as error:
        raise MachineError(
            f"machine file {str(path)!r} cannot be written: {error.strerror}"
        ) from error


def load(path: Path) -> Machine:
    """Read a machine from the TOML file at `path`.

    Raises `MachineError`, naming the file and the key, if the file cannot be read, is not TOML, or
    has an unknown, missing or ill-typed key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MachineError(
            f"machine file {str(path)!r} cannot be read: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        raise MachineError(f"machine file {str(path)!r} is not UTF-8 text") from error
    return from_toml(text, f"machine file {str(path)!r}")


def to_toml(machine: Machine) -> str:
    """Return the text of a machine file; it omits None (TOML has no null) and costs by default."""
    record = {key: value for key, value in dataclasses.asdict(machine).items() if value is not None}
    default = dataclasses.asdict(Costs())
    record["costs"] = {key: cost for key, cost in record["costs"].items() if cost != default[key]}
    return tomli_w.dumps({key: value for key, value in record.items() if value != {}})


def from_toml(text: str, where: str) -> Machine:
    """Return the machine of a TOML text; `where` names the text in errors."""
    try:
        record: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MachineError(f"{where} is not TOML: {error}") from error
    tables = record.get("caches", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise MachineError(f"{where}: key 'caches' is {tables!r}; expected tables, [[caches]]")
    caches = tuple(
        _record(Cache, table, f"{where}, caches[{index}]") for index, table in enumerate(tables)
    )
    table = record.get("costs", {})
    if not isinstance(table, dict):
        raise MachineError(f"{where}: key 'costs' is {table!r}; expected a table, [costs]")
    costs = _record(Costs, table, f"{where}, costs")
    return _record(Machine, {**record, "caches": caches, "costs": costs}, where)


_Record = typing.TypeVar("_Record", Cache, Costs, Machine)


def _record(kind: type[_Record], record: dict[str, object], where: str) -> _Record:
    """Return a `kind` from its fields in `record`, each checked against the declared type."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for key in record:
        if key not in fields:
            raise MachineError(f"{where}: unknown key {key!r}{suggestion(key, fields)}")
    missing = [
        name
        for name, field in fields.items()
        if name not in record and field.default is field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise MachineError(f"{where}: missing key {', '.join(map(repr, missing))}")
    hints = typing.get_type_hints(kind)
    for key, value in record.items():
        _expect_type(value, hints[key], f"{where}: key {key!r}")
    arguments: dict[str, typing.Any] = record
    try:
        return kind(**arguments)
    except MachineError as error:
        raise MachineError(f"{where}: {error}") from error


def _expect_type(value: object, hint: object, name: str) -> None:
    """Raise unless `value` has the type `hint`: str, int, float, str | None, or a checked value."""
    if typing.get_origin(hint) is tuple or hint is Costs:
        return
    expected = str if isinstance(hint, types.UnionType) else hint
    assert isinstance(expected, type)
    accepted = (int, float) if expected is float else (expected,)
    if not isinstance(value, accepted) or isinstance(value, bool):
        wanted = {str: "text", int: "a whole number", float: "a number"}[expected]
        raise MachineError(f"{name} is {value!r}; expected {wanted}")
