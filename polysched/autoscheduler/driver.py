"""All stages in order: from a schedule to a better one, proved, with the reasons."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from polysched.autoscheduler.cost.bound import least_cycles
from polysched.autoscheduler.facts.sizes import LONG_SIZES, model_sizes
from polysched.autoscheduler.forms.candidate import LEAST_GAIN, Candidate, Decision
from polysched.autoscheduler.forms.column_form import column_formed, column_tiled
from polysched.autoscheduler.forms.normalize import normalized
from polysched.autoscheduler.forms.owner_tiles import owner_tiled
from polysched.autoscheduler.forms.row_blocks import row_blocked
from polysched.autoscheduler.forms.row_fusion import row_fused
from polysched.autoscheduler.forms.shared_sums import with_shared_sums
from polysched.autoscheduler.forms.simplification import with_simplification, with_tails
from polysched.autoscheduler.forms.stride_order import stride_ordered
from polysched.autoscheduler.forms.time_tiles import time_tiled
from polysched.autoscheduler.proof import Proved, proved
from polysched.autoscheduler.recipes import FALLBACK, QUICK, RECIPES
from polysched.autoscheduler.search import Context, searched, start
from polysched.autoscheduler.threads.costs import least_shared
from polysched.autoscheduler.threads.share import with_threads
from polysched.errors import ScheduleError
from polysched.integers import as_integer
from polysched.ir.core.tree import loops
from polysched.ir.isl.budget import (
    SAFETY_SECONDS,
    is_budget_spent,
    is_out_of_time,
    operation_budget,
    part_of_budget,
    time_budget,
)
from polysched.ir.isl.shared_results import shared_results
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict
from polysched.machine.description import Machine
from polysched.runtime.collection import collection_paused
from polysched.schedule.primitives.privatize import Privatize
from polysched.schedule.schedule import Schedule

REBUILT = (time_tiled, owner_tiled, column_formed, row_blocked, row_fused)
"""Stages that rebuild several nests at once; their results are searched like the start."""
REBUILT_FOR_THREADS = (column_tiled,)
"""More such stages for several threads: their tiles are slower on one."""
SEARCH_OPERATIONS = 16_000_000
"""isl operations of a whole search and its proofs; after half of them the best so far is proved.

Threads have as many again. The proofs of the fallbacks have only limits of their own.

A million take 0.3 to 0.7 seconds of Sapphire Rapids, the search's own arithmetic included. The
largest search of the gallery and of ``bench/programs`` takes 5 million, rotations of a Jacobi
eigenvalue solver 14 million. isl counts allocations, some of which its caches save: what the
process has computed before changes the count by about one percent.
"""
SEARCH_PART = 0.5
"""The part of a limit after which the search ends, so that its best candidate can be proved.

In the gallery the proof takes 0.44 of the time of search and proof in the median.
"""
REPLACING_GAIN = 0.9
"""The program as written is replaced if the other then takes at most this part of its cycles.

Predictions for two orders of loops differ more in their error than for two forms of one nest. On
Zen 4, ten sweeps of a Jacobi solver with 42 unknowns take 1.08 times as long as written with a
schedule of 0.93 of its predicted cycles. In the gallery and ``bench/programs``, the smallest gain
of a schedule is 0.86.
"""
NEAR_LEAST = 0.8
"""A candidate is close to the lower bound if that is at least this part of its cycles.

Products of matrices as contractions have 0.82 to 0.85, sums over the rows of a matrix 0.96.
"""
EQUAL = 1.002
"""Candidates are equal if their cycles differ by less than this factor from the least ones."""
TILED_BOUND = 0.8
"""The part of the lower bound that counts after a stage has made tiles.

Instances of skewed tiles are estimated: a convolution in tiles took 0.95 of its bound.
"""
LONG_PROGRAM = 32
"""Statements above which the program as written is searched first, and alone if that suffices.

Distributing the loops around a sorting network of 67 statements takes 10 seconds.
"""
LONG_ENOUGH = 1.5
"""How often a long program may take the cycles near its lower bound and still suffice."""
OTHER_GAIN = 0.9
"""The part of the cycles of the best candidate's threads that those of another one may take."""
PROOF_PART = 0.8
"""The part of the remaining operations for the proofs of candidates; fallbacks have the rest."""


@dataclass(frozen=True, eq=False)
class Optimized:
    """The result of the autoscheduler.

    Attributes:
        schedule: the answer, proved.
        decisions: what was added to the start, and why.
        dropped: decisions that could not be proved, with the checker's reason.
        before: the start with its predicted cost.
        after: the answer with its predicted cost.
        sizes: the values of the parameters for which costs are predicted.
        stopped: the seconds after which the time limit ended the search; None if it was finished.
        is_searched: whether more than vectors in innermost loops and partial sums was tried.
        operations: isl's operations whose limit ended the search, alike in each run; or None.
    """

    start: Schedule
    schedule: Schedule
    verdict: Verdict
    decisions: tuple[Decision, ...]
    dropped: tuple[tuple[Decision, str], ...]
    before: Candidate
    after: Candidate
    machine: Machine
    sizes: Mapping[str, int]
    stopped: float | None = None
    threads: int = 1
    is_searched: bool = True
    operations: int | None = None


def optimize_schedule(
    schedule: Schedule,
    machine: Machine,
    *,
    threads: int = 1,
    sizes: Mapping[str, int] | None = None,
    seconds: float | None = None,
    worth_cycles: float = 0.0,
    tell: Callable[[str], None] = lambda _: None,
) -> Optimized:
    """Find a better schedule that begins with the given steps, and prove it.

    Args:
        worth_cycles: a program that is predicted to take fewer cycles with vectors in its innermost
            loops is not searched.
        tell: is called with a line of text as the search proceeds.

    Raises:
        IllegalScheduleError, UnknownLegalityError: the given schedule is not proved legal.
    """
    if (as_integer(threads) or 0) < 1:
        raise ScheduleError(f"threads={threads!r}; expected a positive integer")
    chosen = model_sizes(schedule.kernel, sizes)
    context = Context(machine, chosen, threads, RECIPES)
    begin = time.thread_time()
    verdict = check(schedule, seconds=SAFETY_SECONDS)
    verdict.raise_if_refused()
    limit = time_budget(SAFETY_SECONDS if seconds is None else seconds)
    with collection_paused(), limit, shared_results():
        written = start(schedule, context)
        long_context = replace(context, sizes=model_sizes(schedule.kernel, sizes, LONG_SIZES))
        better: list[Candidate] = []
        skipped: Iterable[Candidate] = ()
        fallbacks = [written]
        is_late = seconds == 0
        is_searched = is_limited = False
        if not is_late:
            simple = searched(written, replace(context, recipes=FALLBACK, answers={}))
            is_searched = simple.cycles >= worth_cycles
            if not is_searched:
                simple = searched(written, replace(context, recipes=QUICK, answers={}))
            fallbacks.insert(0, simple)
        most_cycles = REPLACING_GAIN * written.cycles
        with operation_budget(SEARCH_OPERATIONS):
            if is_searched:
                with part_of_budget(SEARCH_PART):
                    better, skipped = _better(written, context, long_context, tell)
                    is_late, is_limited = is_out_of_time(), is_budget_spent()
            tell("proving")
            with part_of_budget(PROOF_PART):
                proof = proved(schedule, better, machine, chosen, most_cycles)
                if proof is None and not is_budget_spent():
                    others = (searched(origin, context) for origin in skipped)
                    gaining = (other for other in others if other.cycles < most_cycles)
                    proof = proved(schedule, gaining, machine, chosen, most_cycles)
                is_limited = is_limited or is_budget_spent()
        if proof is None:
            proof = proved(schedule, fallbacks, machine, chosen, most_cycles)
        if proof is None:
            proof = Proved(written, verdict, ())
        with operation_budget(SEARCH_OPERATIONS):
            proof = _threaded(schedule, proof, better, context)
            is_limited = is_limited or is_budget_spent()
        is_late = is_late or is_out_of_time()
    return Optimized(
        schedule,
        proof.candidate.schedule,
        proof.verdict,
        proof.candidate.decisions,
        proof.dropped,
        written,
        proof.candidate,
        machine,
        chosen,
        time.thread_time() - begin if is_late else None,
        threads,
        is_searched or is_late,
        SEARCH_OPERATIONS if is_limited and not is_late else None,
    )


def _threaded(
    schedule: Schedule, proof: Proved, candidates: Sequence[Candidate], context: Context
) -> Proved:
    """Share the work of the proved candidate among threads, where that is proved and gains.

    Another candidate replaces it if its larger shared part makes it faster on all threads.
    """
    best = with_threads(proof.candidate, context)
    found = [best] if best is not proof.candidate else []
    for other in candidates if context.threads > 1 else ():
        most = OTHER_GAIN * best.cycles
        costs = other.costs.values()
        if other is not proof.candidate and most > least_shared(
            costs, context.threads, context.machine
        ):
            shared = with_threads(other, context)
            if shared.cycles < most:
                best = shared
                found.insert(0, best)
    again = proved(schedule, found, context.machine, context.sizes, math.inf) if found else None
    if again is None:
        return proof
    return replace(again, dropped=(*proof.dropped, *again.dropped))


def _better(
    written: Candidate, context: Context, long_context: Context, tell: Callable[[str], None]
) -> tuple[list[Candidate], Iterable[Candidate]]:
    """Return the candidates that are predicted to gain, the best first, and the starts left out.

    Candidates are compared at the sizes of the long context. Starts whose lower bound does not gain
    over the best one are left out. After a candidate that is close to the lower bound of the
    program, only starts that cost less than its own start are searched.
    """
    if is_budget_spent():
        return [], ()
    tell("distributing loops")
    schedule, first = with_simplification(written.schedule)
    plain = replace(start(schedule, context), decisions=first) if first else written
    least = partial(least_cycles, machine=context.machine, sizes=long_context.sizes)
    bound = least(plain.schedule.program)
    if len(plain.costs) > LONG_PROGRAM:
        candidate = searched(plain, context)
        if start(candidate.schedule, long_context).cycles <= LONG_ENOUGH * bound / NEAR_LEAST:
            return [candidate], ()
    predicted: list[tuple[float, Candidate]] = []
    skipped: list[Candidate] = []
    cheapest = most_cycles = math.inf
    starts = _starts(plain, context, tell)
    for number, (begin, rebuilt) in enumerate(starts, start=1):
        own = least(begin.schedule.program, apart=True) * (TILED_BOUND if rebuilt else 1.0)
        if begin.cycles >= cheapest or most_cycles <= own / context.threads:
            skipped.append(begin)
            continue
        tell(f"searching start {number}")
        candidate = searched(begin, replace(context, rebuilt=rebuilt))
        if candidate.cycles < REPLACING_GAIN * written.cycles:
            is_long = long_context.sizes != context.sizes
            cycles = (start(candidate.schedule, long_context) if is_long else candidate).cycles
            predicted.append((cycles, candidate))
            most_cycles = min(most_cycles, LEAST_GAIN * cycles)
            if cycles <= bound / NEAR_LEAST:
                cheapest = min(cheapest, begin.cycles)
        if most_cycles <= bound / context.threads or is_budget_spent():
            break
    least_predicted = min((cycles for cycles, _ in predicted), default=0.0)
    by_cycles = sorted(predicted, key=partial(_rank, least=least_predicted))
    return [candidate for _, candidate in by_cycles], chain(skipped, (start for start, _ in starts))


def _rank(predicted: tuple[float, Candidate], least: float) -> tuple[float, int, float]:
    """Rank a candidate by its cycles; among equals the one with the fewest steps is first."""
    cycles, candidate = predicted
    return max(cycles, least * EQUAL), len(candidate.schedule.steps), cycles


def _starts(
    plain: Candidate, context: Context, tell: Callable[[str], None]
) -> Iterator[tuple[Candidate, frozenset[str]]]:
    """Yield the starts of the search, each with the loops that a stage has made around nests."""
    first = plain.decisions
    schedule, decisions = normalized(plain.schedule, context.sizes)
    schedule, ordered = stride_ordered(schedule, context.sizes)
    schedule, shared = with_shared_sums(schedule, context.sizes)
    decisions += ordered + shared
    origins = [plain]
    distributed: Candidate | None = None
    if decisions:
        # Temporaries that normalization puts in memory are registers of the program as written.
        is_expanded = any(
            isinstance(s, Privatize) for decision in decisions for s in decision.steps
        )
        distributed = replace(start(schedule, context), decisions=(*first, *decisions))
        origins.insert(1 if is_expanded else 0, distributed)
    yield from ((origin, frozenset()) for origin in origins)
    if distributed is not None and is_expanded:
        # Some nests are faster with their temporaries in registers, others distributed.
        kept, parts = normalized(plain.schedule, context.sizes, privatizes=False)
        if parts:
            yield replace(start(kept, context), decisions=(*first, *parts)), frozenset()
    tailed, tails = with_tails(plain.schedule, context.machine)
    if tails:
        origins.append(replace(start(tailed, context), decisions=(*first, *tails)))
        yield origins[-1], frozenset()
    tell("aligning loops for tiles")
    for origin in origins:
        for tiles in (*REBUILT, *(REBUILT_FOR_THREADS if context.threads > 1 else ())):
            # Row blocks distribute by themselves: they begin with the loops as written.
            if tiles is not row_blocked or origin is plain:
                known = {loop.name for loop in loops(origin.schedule.program.tree)}
                for tiled, decision in tiles(origin.schedule, context.machine, context.sizes):
                    made = {loop.name for loop in loops(tiled.program.tree)}
                    begin = replace(start(tiled, context), decisions=(*origin.decisions, decision))
                    yield begin, frozenset(made - known)
    # Apart, sums get their own register tiles; together, lanes run along their common loop.
    apart, more = normalized(schedule, context.sizes, keeps_sums=False)
    if more:
        yield replace(start(apart, context), decisions=(*first, *decisions, *more)), frozenset()
