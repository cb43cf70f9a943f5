"""TARGET of the command line, ``FILE.py[:NAME]`` or ``FILE.c[:FUNCTION]``: which schedule it is."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from polysched.cli.c_target import is_c_target, load_c_target
from polysched.cli.source_file import load_source_file, users_code
from polysched.errors import TargetError, suggestion
from polysched.frontends.scop import CProgram
from polysched.ir.kernel import Kernel
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule

_Value = TypeVar("_Value")
_MACHINE = "machine"


@dataclass(frozen=True)
class Target:
    """A schedule that the user named: `label` says how, for messages.

    ``program`` is the C file that its kernel was read from, None if it was none. ``for_machine``
    says whether it was made for a machine, by a function that takes one.
    """

    label: str
    schedule: Schedule
    program: CProgram | None = None
    for_machine: bool = False


def load_target(text: str, function: str | None = None, machine: Machine | None = None) -> Target:
    """The schedule that ``FILE.py[:NAME]`` or ``FILE.c[:FUNCTION]`` means.

    The latter is what the function computes, or the region that it holds, unscheduled.

    NAME is a `Schedule`, a `Kernel` (taken unscheduled), or a function that makes one of these,
    whose parameters all have defaults or all but one, which then gets the file's only kernel: its
    only `Kernel`, else what its only function annotated ``-> Kernel`` makes. One named ``machine``
    gets the machine. Without NAME it is the file's only schedule, else its only kernel.

    Args:
        text: what the user wrote.
        function: of a C file.
        machine: for functions that take one; None: their default, or this machine.

    Raises:
        TargetError: there is no such file or name, the name is something else, or the choice is
            not clear.
        FrontendError: a C file says what no kernel can.
    """
    if is_c_target(text):
        program = load_c_target(text, function)
        return Target(text, Schedule(program.kernel), program)
    if function is not None:
        raise TargetError(f"--function {function} is for C files; expected FILE.py:NAME")
    path, name = _parted(text)
    module = load_source_file(path)
    if name is None:
        name = _only_name(path, module)
    elif name not in vars(module):
        raise TargetError(f"{path} has no '{name}'{suggestion(name, _candidates(module))}")
    value = vars(module)[name]
    label = f"{path}:{name}"
    for_machine = False
    if not isinstance(value, Schedule | Kernel):
        for_machine = _takes_machine(value)
        value = _made(path, module, label, value, machine)
    if isinstance(value, Kernel):
        with users_code(path):
            value = Schedule(value)
    return Target(label, value, for_machine=for_machine)


def _parted(text: str) -> tuple[Path, str | None]:
    path, colon, name = text.rpartition(":")
    if not colon or text.endswith(".py"):
        return Path(text), None
    if not name:
        raise TargetError(f"'{text}' ends in a colon; expected FILE.py or FILE.py:NAME")
    return Path(path), name


def _only_name(path: Path, module: ModuleType) -> str:
    for kind in (Schedule, Kernel):
        names = list(_values(module, kind))
        if len(names) == 1:
            return names[0]
        if names:
            break
    candidates = _candidates(module)
    if not candidates:
        raise TargetError(f"{path} has no schedule and no kernel, and no function to make one")
    choices = ", ".join(f"{path}:{name}" for name in candidates)
    raise TargetError(f"which schedule of {path}? Name one: {choices}")


def _values(module: ModuleType, kind: type[_Value]) -> Mapping[str, _Value]:
    """The module's values of a type by name; of several names of one value the first."""
    by_identity = {
        id(value): (name, value)
        for name, value in reversed(vars(module).items())
        if isinstance(value, kind) and not name.startswith("_")
    }
    return dict(reversed(by_identity.values()))


def _candidates(module: ModuleType) -> list[str]:
    """What NAME could be: schedules, kernels, and the file's own functions that could make one."""
    values = [*_values(module, Schedule), *_values(module, Kernel)]
    return values + [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and len(_required(value)) <= 1
        and _may_return(value, Schedule, Kernel)
    ]


def _made(
    path: Path, module: ModuleType, label: str, make: object, machine: Machine | None
) -> Schedule | Kernel:
    """What a function makes, called with nothing or with the file's kernel, and the machine."""
    if not callable(make) or inspect.isclass(make):
        raise TargetError(
            f"'{label}' is of type {_type_name(make)}; expected a Schedule, a Kernel or a "
            "function that makes one"
        )
    required = _required(make)
    if len(required) > 1 or any(one.kind is one.KEYWORD_ONLY for one in required):
        names = ", ".join(f"'{one.name}'" for one in required)
        raise TargetError(
            f"function '{label}' needs {names}; expected one whose parameters have defaults, or "
            "all but one, which gets the kernel"
        )
    positional: list[Kernel] = []
    named: dict[str, Any] = _machine_for(make, machine)
    for one in required:
        kernel = _only_kernel(path, module, label, one.name)
        if one.kind is one.POSITIONAL_ONLY:
            positional = [kernel]
        else:
            named[one.name] = kernel
    with users_code(path):
        made = make(*positional, **named)
    if not isinstance(made, Schedule | Kernel):
        raise TargetError(
            f"function '{label}' returns a value of type {_type_name(made)}; expected a Schedule "
            "or a Kernel"
        )
    return made


def _only_kernel(path: Path, module: ModuleType, label: str, parameter: str) -> Kernel:
    """The file's only kernel, for a function that needs one as its `parameter`."""
    kernels = list(_values(module, Kernel).values())
    if len(kernels) == 1:
        return kernels[0]
    makers = {
        name: value
        for name, value in vars(module).items()
        if callable(value) and _returned(value) is Kernel and not _without_default(value)
    }
    if kernels or len(makers) != 1:
        found = sorted([*_values(module, Kernel), *makers])
        raise TargetError(
            f"function '{label}' needs '{parameter}', a kernel; expected one kernel in the file, "
            "or one function without required parameters annotated '-> Kernel', found "
            f"{', '.join(map(repr, found)) or 'none'}"
        )
    ((name, make),) = makers.items()
    with users_code(path):
        kernel = make()
    if not isinstance(kernel, Kernel):
        raise TargetError(
            f"function '{path}:{name}' is annotated '-> Kernel' and returns a value of type "
            f"{_type_name(kernel)}"
        )
    return kernel


def _required(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that have no default, the machine aside."""
    return [one for one in _without_default(function) if not _is_machine(one)]


def _without_default(function: Callable[..., Any]) -> list[inspect.Parameter]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        one
        for one in _parameters(function)
        if one.default is one.empty and one.kind not in variadic
    ]


def _takes_machine(function: object) -> bool:
    """Whether a function has a parameter named ``machine``."""
    return callable(function) and any(map(_is_machine, _parameters(function)))


def _is_machine(parameter: inspect.Parameter) -> bool:
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return parameter.name == _MACHINE and parameter.kind in by_name


def _machine_for(function: Callable[..., Any], machine: Machine | None) -> dict[str, Machine]:
    """The machine as an argument of a function that takes one; nothing where its default does."""
    for one in filter(_is_machine, _parameters(function)):
        if machine is not None or one.default is one.empty:
            return {_MACHINE: load_machine() if machine is None else machine}
    return {}


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions of C code tell nothing of their parameters
        return []


def _may_return(function: Callable[..., Any], *kinds: type) -> bool:
    """Whether the annotation says that a function returns one of these, or does not say."""
    found = _returned(function)
    return found is None or (isinstance(found, type) and issubclass(found, kinds))


def _returned(function: Callable[..., Any]) -> object:
    """The annotation of what is returned; None where there is none."""
    try:
        return typing.get_type_hints(function).get("return")
    except (NameError, AttributeError, TypeError):  # an annotation that cannot be evaluated
        return None


def _type_name(value: object) -> str:
    return type(value).__name__
