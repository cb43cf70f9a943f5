"""LLVM target machines for machine descriptions."""

import functools

from llvmlite import binding
from llvmlite.binding import ffi

from polysched.errors import MachineError, suggestion
from polysched.forking import Rank, hold_while_forking
from polysched.machine.description import Machine
from polysched.machine.x86_names import FEATURES, INDISPENSABLE, PROCESSORS

# A fork waits for llvmlite's lock, so that in the child no thread is inside LLVM.
hold_while_forking(Rank.LLVM, ffi.lib._lock)


@functools.cache
def initialize_llvm() -> None:
    """Initialize LLVM's targets, once per process."""
    binding.initialize_native_target()
    binding.initialize_all_targets()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()  # inline assembly aborts the process without it
    binding.initialize_all_asmprinters()


def target_machine(
    machine: Machine, *, optimization: int = 3, position_independent: bool = False
) -> binding.TargetMachine:
    """Return an LLVM target machine for `machine`'s processor with exactly its features.

    `optimization` is LLVM's code generation level, 0 to 3. `position_independent` code can be
    linked into programs and shared libraries; other code is for a JIT. Raises `MachineError` for a
    triple, processor or feature that LLVM does not know (LLVM would only warn and ignore it), and
    if a feature is off without which LLVM aborts the process.
    """
    if optimization not in range(4):
        raise MachineError(f"optimization is {optimization}; expected a level from 0 to 3")
    initialize_llvm()
    try:
        target = binding.Target.from_triple(machine.triple)
    except RuntimeError as error:
        raise MachineError(
            f"machine {machine.name!r}: LLVM does not know the triple {machine.triple!r}; "
            "expected one such as 'x86_64-unknown-linux-gnu'"
        ) from error
    if machine.triple.startswith("x86_64"):
        require_x86_names(machine)
        _require_x86_basics(machine)
    return target.create_target_machine(
        cpu=machine.cpu,
        features=machine.features,
        opt=optimization,
        reloc="pic" if position_independent else "default",
        codemodel="default" if position_independent else "jitdefault",
    )


def require_x86_names(machine: Machine) -> None:
    """Check that LLVM knows the processor and the features of a 64-bit x86 machine.

    Raises `MachineError`, with the nearest names, if it does not.
    """
    names = [item[1:] for item in machine.features.split(",") if item]
    for kind, name, known in (
        ("processor", machine.cpu, PROCESSORS),
        *(("feature", name, FEATURES) for name in names),
    ):
        if name not in known:
            raise MachineError(
                f"machine {machine.name!r}: LLVM knows no x86 {kind} {name!r}"
                f"{suggestion(name, known)}"
            )


def _require_x86_basics(machine: Machine) -> None:
    lacking = sorted(machine.disabled_features & INDISPENSABLE)
    if lacking:
        off = ",".join(f"-{name}" for name in lacking)
        raise MachineError(
            f"machine {machine.name!r}: features switches off {', '.join(lacking)}, which every "
            f"64-bit x86 processor has, and LLVM needs; leave out {off}"
        )
