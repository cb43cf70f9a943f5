"""Random kernels and schedules: verdicts and compiled code against this campaign's own oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polysched as ps
from tests.campaign import typed
from tests.campaign.declaring import declaration
from tests.campaign.description import Program
from tests.campaign.drawing import Dice
from tests.campaign.executing import Oracle, Outside, TooLong, Undefined
from tests.campaign.kernels_grown import grown
from tests.campaign.kernels_shrunk import shrunk
from tests.campaign.modelled_steps import Step, Unmodelled, applied
from tests.campaign.orders import Node, declared, shape
from tests.campaign.running import Expected, drawn_sizes
from tests.campaign.schedules_grown import Steps
from tests.campaign.witnesses import (
    WitnessFault,
    accepted_fault,
    check_witness,
    condition_fault,
    depends_on_data,
)

_MACHINES = tuple(
    name
    for name in ("generic", "haswell-avx2", "skylake-avx512")
    if not ps.load_machine(name).missing_on(ps.load_machine())
)
"""What code is generated for now and then in place of this machine, which can run all of it."""

At = Callable[[str], None]
"""Told what is done next, so that a crash or a hang can be placed."""


@dataclass
class Outcome:
    """Counts of what was judged, and findings as (title, text) pairs."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[str, str]] = field(default_factory=list)


class Finding(Exception):
    """Something is wrong; the title says what kind of thing."""

    def __init__(self, title: str, detail: str) -> None:
        super().__init__(detail)
        self.title = title


def guarded(title: str, action: Callable[[], Any], *expected: type[Exception]) -> Any:
    """The result of an action; any exception that is not expected becomes a finding."""
    try:
        return action()
    except (*expected, Finding):
        raise
    except Exception as error:
        raise Finding(f"{title}: {type(error).__name__}", str(error)[:2000]) from error


class Case:
    """One kernel, and what is expected of it."""

    def __init__(self, program: Program, seed: object, outcome: Outcome, at: At) -> None:
        self.program, self.outcome, self.at = program, outcome, at
        self.dice = Dice(("judging", seed))
        self.oracle = Oracle(program)
        self.text = declaration(program)
        self._expected: dict[Any, Expected | str] = {}

    def declare(self) -> Any:
        """The kernel.

        Raises:
            ps.KernelError: it cannot be declared.
        """
        self.at("declare")
        names: dict[str, Any] = {}
        code = compile(self.text, "<kernel>", "exec")
        guarded("declaring", lambda: exec(code, names), ps.KernelError)
        return names["kernel"]

    def expected(self, sizes: dict[str, int]) -> Expected | str:
        """The arguments at some sizes, or why the program does not run there."""
        key = tuple(sizes.values())
        if key not in self._expected:
            try:
                self._expected[key] = Expected(
                    self.program, self.oracle, sizes, Dice(("data", self.text, key))
                )
            except (Undefined, Outside) as error:
                self._expected[key] = type(error).__name__.lower()
            except (typed.Inexact, TooLong) as error:
                self._expected[key] = f"skipped {type(error).__name__}"
        return self._expected[key]

    def sizes(self, count: int = 4) -> list[dict[str, int]]:
        return drawn_sizes(self.program, Dice(("sizes", self.text)), count)

    def judge_kernel(self, schedule: Any) -> bool:
        """Whether the declared kernel is well-formed, which the checker and the oracle agree on."""
        self.at("check the kernel")
        verdict = guarded("checking the kernel", schedule.check)
        faults = {one for one in map(self.expected, self.sizes(5)) if isinstance(one, str)}
        is_faulty = bool(faults & {"undefined", "outside"})
        if verdict.is_legal:
            if is_faulty:
                raise Finding("a kernel accepted that is not well-formed", str(faults))
            return True
        if verdict.violation is None:
            self.outcome.counts["kernels unknown"] += 1
            return False
        self.outcome.counts["kernels refused"] += 1
        violation = verdict.violation
        sizes = dict(violation.witness.parameters)
        check_witness_or_raise(self, declared(self.program), verdict)
        at = self.expected(sizes)
        wanted = {"undefined": "undefined", "bounds": "outside"}.get(violation.kind.value)
        data = depends_on_data(self.program)
        if not (is_faulty or at == wanted or data or str(at).startswith("skipped")):
            raise Finding("a kernel refused that is well-formed", str(verdict))
        return False

    def run(self, schedule: Any, what: str) -> None:
        """Compile a legal schedule and compare its results."""
        try:
            machine = self.dice.pick(_MACHINES) if self.dice.chance(0.35) else None
            self.at(f"compile {what} for {machine}")
            kernel = guarded("compiling", lambda: schedule.compile(machine), ps.LoweringError)
        except ps.LoweringError as error:
            self.outcome.counts["no code for it: " + str(error)[:160]] += 1
            return
        self.outcome.counts["compiled"] += 1
        for sizes in self.sizes():
            expected = self.expected(sizes)
            if isinstance(expected, str):
                self.outcome.counts[f"runs {expected}"] += 1
                continue
            for threads in (1, 2) if kernel.is_threaded else (None,):
                self.at(f"run {what} at {sizes}, threads={threads}")
                fault = guarded(
                    "running", lambda e=expected, t=threads: e.fault(kernel, self.dice, t)
                )
                self.outcome.counts["runs"] += 1
                if fault is not None:
                    raise Finding("wrong values", f"{fault}, {threads=}, {machine=}")


def check_witness_or_raise(case: Case, tree: Node | None, verdict: Any) -> None:
    try:
        guarded(
            "witness",
            lambda: check_witness(case.program, case.oracle, tree, verdict.violation),
            WitnessFault,
        )
    except WitnessFault as error:
        raise Finding("a false witness", f"{error}\n{verdict}") from error


class Scheduled:
    """A schedule as it grows, beside the model of its order."""

    def __init__(self, case: Case, schedule: Any) -> None:
        self.case, self.schedule = case, schedule
        self.tree: Node | None = declared(case.program)
        self.steps: list[Step] = []

    def add(self, step: Step) -> bool:
        """Whether the step could be applied."""
        case = self.case
        case.at(f"apply {step}")
        try:
            self.schedule = guarded(
                f"applying {step.method}",
                lambda: getattr(self.schedule, step.method)(*step.args, **step.options),
                ps.ScheduleError,
            )
        except ps.ScheduleError:
            case.outcome.counts[f"refused {step.method}"] += 1
            return False
        except Finding:
            self.steps.append(step)
            raise
        self.steps.append(step)
        case.outcome.counts[f"step {step.method}"] += 1
        if self.tree is not None:
            try:
                self.tree = applied(self.tree, step)
            except Unmodelled:
                self.tree = None
            else:
                theirs = _shape(self.schedule.program.tree)
                if shape(self.tree) != theirs:
                    raise Finding("the tree differs from the model", f"{shape(self.tree)} {theirs}")
        return True

    def judge(self, *, run: bool, ask: bool) -> None:
        """Check the verdict; run the code of a legal schedule if asked for."""
        case, counts = self.case, self.case.outcome.counts
        case.at("check")
        verdict = guarded("checking", self.schedule.check)
        kind = verdict.kind.value
        counts[f"schedules {kind}"] += 1
        counts[f"schedules {kind}, {'not ' * (self.tree is None)}modeled"] += 1
        if kind == "legal":
            if self.tree is not None:
                fault = accepted_fault(case.program, case.oracle, self.tree)
                if fault is not None:
                    raise Finding("an illegal schedule accepted", fault)
            if run:
                case.run(self.schedule, "the schedule")
        elif kind == "illegal":
            check_witness_or_raise(case, self.tree, verdict)
            counts[f"witness {verdict.violation.cause.name}"] += 1
            if ask:
                self._ask()

    def _ask(self) -> None:
        case = self.case
        # The model of orders does not know bytes; conditions on packed arrays may be about them.
        is_modeled = not depends_on_data(case.program) and not any(
            array.is_packed for array in case.program.arrays
        )
        if case.program.params and self.tree is not None and is_modeled:
            case.at("condition")
            condition = guarded("condition", self.schedule.condition)
            if condition is not None:
                case.outcome.counts["conditions"] += 1
                fault = condition_fault(case.program, case.oracle, self.tree, str(condition))
                if fault is not None:
                    raise Finding("a condition that is wrong", fault)
                if case.dice.chance(0.1):
                    self._run_guarded()
        if case.dice.chance(0.06):
            case.at("repairs")
            for repair in guarded("repairs", self.schedule.repairs):
                case.outcome.counts["repairs"] += 1
                repaired = guarded("repairing", lambda r=repair: self.schedule.repair(r))
                if not guarded("checking a repair", repaired.check).is_legal:
                    raise Finding("a repair that is not legal", str(repair))
                case.run(repaired, f"the repair {repair}")

    def _run_guarded(self) -> None:
        case = self.case
        case.outcome.counts["guarded"] += 1

        class Guarded:
            compile = staticmethod(lambda machine: self.schedule.compile(machine, guard=True))

        case.run(Guarded, "the guarded schedule")


def _shape(node: Any) -> Any:
    """A tree of polysched's in the form of `orders.shape`."""
    match type(node).__name__:
        case "Leaf":
            return node.statement
        case "Sequence":
            return [_shape(child) for child in node.children]
    return (node.name, node.kind.value, _shape(node.body))


def judge_seed(seed: int, at: At, schedules: int = 4) -> Outcome:
    """Judge one kernel and some schedules of it."""
    outcome = Outcome()
    outcome.counts["kernels"] += 1
    program = grown(seed)
    case = Case(program, seed, outcome, at)
    try:
        base = ps.Schedule(case.declare())
    except ps.KernelError as error:
        outcome.counts["kernels not declared: " + str(error).split("'")[0][:60]] += 1
        return outcome
    except Finding as error:
        outcome.findings.append((error.title, _text(case, (), error)))
        return outcome
    current: list[Step] = []
    try:
        if not case.judge_kernel(base):
            return outcome
        if case.dice.chance(0.1):
            case.run(base, "the program as written")
    except Finding as error:
        outcome.findings.append((error.title, _text(case, current, error)))
        return outcome
    runs = True
    for number in range(schedules):
        dice = Dice(("schedule", seed, number))
        scheduled = Scheduled(case, base)
        before = outcome.counts["compiled"]
        try:
            _judge_schedule(scheduled, dice, run=runs)
        except Finding as error:
            smaller, steps, error = _shrunk(program, scheduled.steps, error)
            text = _text(Case(smaller, seed, outcome, at), steps, error)
            outcome.findings.append((error.title, text))
        runs = runs and outcome.counts["compiled"] == before
    return outcome


def _shrunk(
    program: Program, steps: list[Step], error: Finding
) -> tuple[Program, tuple[Step, ...], Finding]:
    """A smaller program and schedule with the same finding, and what is found of it."""
    latest = error

    def shows(program: Program, steps: tuple[Step, ...]) -> bool:
        nonlocal latest
        case = Case(program, "shrinking", Outcome(), lambda _: None)
        try:
            scheduled = Scheduled(case, ps.Schedule(case.declare()))
            if not case.judge_kernel(scheduled.schedule):
                return False
            for step in steps:
                scheduled.add(step)
            scheduled.judge(run=True, ask="condition" in error.title)
        except Finding as other:
            if other.title != error.title:
                return False
            latest = other
            return True
        except ps.PolyschedError:
            return False
        return False

    smaller, fewer = shrunk(program, tuple(steps), shows)
    return smaller, fewer, latest


def _judge_schedule(scheduled: Scheduled, dice: Dice, *, run: bool) -> None:
    drawn = Steps(dice, order_only=dice.chance(0.35))
    if dice.chance(0.3):
        for step in drawn.recipe(scheduled.schedule.program):
            scheduled.add(step)
    for _ in range(dice.weighted({0: 1, 1: 2, 2: 3, 3: 3, 4: 3, 6: 2, 9: 2})):
        drawn_step = drawn.next(scheduled.schedule.program)
        if drawn_step is not None:
            scheduled.add(drawn_step)
    if scheduled.steps:
        scheduled.judge(run=run, ask=dice.chance(0.35))


def _text(case: Case, steps: Any, error: Finding) -> str:
    chain = "".join(f"\n    .{step}" for step in steps)
    return f"{case.text}schedule = (\n    ps.Schedule(kernel){chain}\n)\n# {error.title}: {error}\n"
