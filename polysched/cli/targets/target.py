"""Load the command-line TARGET, ``FILE.py[:NAME]`` or ``FILE.c[:FUNCTION]``, as a schedule."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from polysched.cli.targets.c_target import is_c_target, load_c_target
from polysched.cli.targets.source_file import load_source_file, users_code
from polysched.errors import TargetError, suggestion
from polysched.frontends.scop import NO_PROMISES, CProgram, Promises
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.expressions import Expression
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule

_Value = TypeVar("_Value")
_MACHINE = "machine"
_OVER_ARRAYS = (
    "a function over arrays with the decorator @ps.jit (and a call in the file) or @ps.kernel"
)


@dataclass(frozen=True)
class Target:
    """A schedule loaded from a TARGET.

    Attributes:
        label: the TARGET in messages, ``FILE.py:NAME``.
        program: the C program that holds its kernel; None if TARGET is a Python file.
        for_machine: whether a function with a parameter ``machine`` made it.
        is_jit: whether it is the schedule that ``ps.jit`` found for a function.
        gains: the condition on the sizes under which a schedule of ``--auto`` is predicted to gain;
            None for all sizes.
    """

    label: str
    schedule: Schedule
    program: CProgram | None = None
    for_machine: bool = False
    is_jit: bool = False
    gains: Expression | None = None


def load_target(
    text: str,
    function: str | None = None,
    machine: Machine | None = None,
    promises: Promises = NO_PROMISES,
) -> Target:
    """Load the schedule of ``FILE.py[:NAME]`` or ``FILE.c[:FUNCTION]``.

    A C function gives its unscheduled kernel: its scop region, or else its whole body.

    In a Python file, NAME is a `Schedule`, a `Kernel` (which is left unscheduled), a function of
    ``ps.jit`` that the file calls (which gives the schedule of its latest call), or a function that
    returns a `Schedule` or a `Kernel`. At most one parameter of the latter may lack a default; it
    gets the file's only kernel: the only `Kernel` object, else the result of the only function
    annotated ``-> Kernel``. A parameter named ``machine`` gets the machine. Without NAME, the only
    schedule of the file is loaded, else its only kernel.

    Args:
        function: the function of a C file.
        machine: the argument ``machine`` of functions; None for their default, else this machine.
        promises: the promises of the callers of a C function.

    Raises:
        TargetError: there is no such file or name, the name is something else, or the choice is
            ambiguous.
    """
    if is_c_target(text):
        program = load_c_target(text, function, promises)
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
    is_jit = _is_jit(value)
    if is_jit:
        value = _latest(path, label, value)
    if not isinstance(value, Schedule | Kernel):
        for_machine = callable(value) and any(map(_is_machine, _parameters(value)))
        value = _made(path, module, label, value, machine)
    if isinstance(value, Kernel):
        with users_code(path):
            value = Schedule(value)
    return Target(label, value, for_machine=for_machine, is_jit=is_jit)


def _is_jit(value: object) -> bool:
    """Whether a value is a function of ``ps.jit``; the module is loaded if there is one."""
    jit = sys.modules.get("polysched.frontends.python.jit")
    return jit is not None and isinstance(value, jit.JitFunction)


def _latest(path: Path, label: str, function: Any) -> Schedule:
    """The schedule of the latest call of a function of ``ps.jit``."""
    if not function.signatures:
        raise TargetError(
            f"'{label}' is compiled for the arguments of its calls (ps.jit), and {path} does not "
            "call it outside of its main block; call it there, or use @ps.kernel, whose arguments "
            "have declared types"
        )
    schedule = function.schedule
    assert isinstance(schedule, Schedule)
    return schedule


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
    if len(candidates) == 1 and _is_jit(vars(module)[candidates[0]]):
        return candidates[0]
    if not candidates:
        raise TargetError(f"{path} has no schedule and no kernel, and no function to make one")
    choices = ", ".join(f"{path}:{name}" for name in candidates)
    raise TargetError(f"which schedule of {path}? Name one: {choices}")


def _values(module: ModuleType, kind: type[_Value]) -> Mapping[str, _Value]:
    """The module's values of a type by name; a value with several names has its first name."""
    by_identity = {
        id(value): (name, value)
        for name, value in reversed(vars(module).items())
        if isinstance(value, kind) and not name.startswith("_")
    }
    return dict(reversed(by_identity.values()))


def _candidates(module: ModuleType) -> list[str]:
    """Candidates for NAME: schedules, kernels, and the file's functions that may give one."""
    functions = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }
    kernels = [*_values(module, Kernel)]
    kernels_made = [name for name, value in functions.items() if _returned(value) is Kernel]
    most = 1 if kernels or kernels_made else 0
    return [
        *_values(module, Schedule),
        *kernels,
        *(name for name, value in vars(module).items() if _is_jit(value)),
        *(
            name
            for name, value in functions.items()
            if len(_required(value)) <= most and _may_return(value, Schedule, Kernel)
        ),
    ]


def _made(
    path: Path, module: ModuleType, label: str, make: object, machine: Machine | None
) -> Schedule | Kernel:
    """Call a function, with the file's kernel and the machine as far as it takes them."""
    if not callable(make) or inspect.isclass(make):
        raise TargetError(
            f"'{label}' is of type {_type_name(make)}; expected a Schedule, a Kernel or a "
            "function that makes one"
        )
    required = _required(make)
    if len(required) > 1 or any(parameter.kind is parameter.KEYWORD_ONLY for parameter in required):
        names = ", ".join(f"'{parameter.name}'" for parameter in required)
        raise TargetError(
            f"function '{label}' needs {names}; expected a function whose parameters have "
            f"defaults, except at most one, which gets the kernel, or {_OVER_ARRAYS}"
        )
    positional: list[Kernel] = []
    named: dict[str, Any] = _machine_for(make, machine)
    for parameter in required:
        kernel = _only_kernel(path, module, label, parameter.name)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional = [kernel]
        else:
            named[parameter.name] = kernel
    with users_code(path):
        result = make(*positional, **named)
    if not isinstance(result, Schedule | Kernel):
        raise TargetError(
            f"function '{label}' returns a value of type {_type_name(result)}; expected a Schedule "
            "or a Kernel"
        )
    return result


def _only_kernel(path: Path, module: ModuleType, label: str, parameter: str) -> Kernel:
    """The file's only kernel, for the `parameter` of a function."""
    kernels = list(_values(module, Kernel).values())
    if len(kernels) == 1:
        return kernels[0]
    makers = {
        name: value
        for name, value in vars(module).items()
        if callable(value) and _returned(value) is Kernel and not _without_default(value)
    }
    if kernels or len(makers) != 1:
        candidates = sorted([*_values(module, Kernel), *makers])
        raise TargetError(
            f"function '{label}' needs '{parameter}', a kernel; expected one kernel in the file, "
            "or one function without required parameters annotated '-> Kernel', found "
            f"{', '.join(map(repr, candidates)) or 'none'}; or {_OVER_ARRAYS}"
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
    return [parameter for parameter in _without_default(function) if not _is_machine(parameter)]


def _without_default(function: Callable[..., Any]) -> list[inspect.Parameter]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter
        for parameter in _parameters(function)
        if parameter.default is parameter.empty and parameter.kind not in variadic
    ]


def _is_machine(parameter: inspect.Parameter) -> bool:
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return parameter.name == _MACHINE and parameter.kind in by_name


def _machine_for(function: Callable[..., Any], machine: Machine | None) -> dict[str, Machine]:
    """The keyword argument ``machine`` of a function; empty if it takes none or has a default."""
    for parameter in filter(_is_machine, _parameters(function)):
        if machine is not None or parameter.default is parameter.empty:
            return {_MACHINE: load_machine() if machine is None else machine}
    return {}


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions in C have no signature
        return []


def _may_return(function: Callable[..., Any], *kinds: type) -> bool:
    """Whether a function is annotated to return one of these types, or has no annotation."""
    returned = _returned(function)
    return returned is None or (isinstance(returned, type) and issubclass(returned, kinds))


def _returned(function: Callable[..., Any]) -> object:
    try:
        return typing.get_type_hints(function).get("return")
    except (NameError, AttributeError, TypeError):  # an annotation that cannot be evaluated
        return None


def _type_name(value: object) -> str:
    return type(value).__name__
