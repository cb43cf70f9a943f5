"""The race on a clock that only the contestants and the bursts move."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from polysched.bench.measure.contestant import Contestant, Runner, UnavailableError
from polysched.bench.measure.peers import PeerKernels
from polysched.bench.measure.race import (
    Outcome,
    Progress,
    Rules,
    Withdrawn,
    Work,
    _spread,
    max_abs_err,
    race,
)
from polysched.errors import BenchError

REFERENCE = np.array([1.0, 2.0])
FLOPS = 1e9


@dataclass
class Track:
    """A fake clock, a fake peak and a log of what happened."""

    peaks: list[float] = field(default_factory=lambda: [100e9])
    seconds: float = 0.0
    log: list[str] = field(default_factory=list)
    bursts: int = 0

    def clock(self) -> float:
        return self.seconds

    def burst(self) -> float:
        self.seconds += 0.005
        self.log.append("burst")
        self.bursts += 1
        return self.peaks[(self.bursts - 1) % len(self.peaks)]

    def wait(self) -> None:
        self.log.append("wait")

    def contestant(
        self, name: str, *lengths: float, output: tuple[float, ...] = (1.0, 2.0)
    ) -> Contestant:
        """One whose calls take these many seconds in turn; the last length goes on for ever."""
        remaining = list(lengths)

        def run() -> None:
            self.seconds += remaining.pop(0) if len(remaining) > 1 else remaining[0]
            self.log.append(name)

        def prepare() -> Runner:
            self.log.append(f"prepare {name}")
            return Runner(run, lambda: np.array(output))

        return Contestant(name, prepare)

    def race(
        self,
        *contestants: Contestant,
        rules: Rules | None = None,
        tolerance: float = math.inf,
        progress: Progress | None = None,
    ) -> Outcome:
        return race(
            Work("work", FLOPS, contestants, REFERENCE, self.burst, tolerance),
            replace(rules or Rules(rounds=4), wait=self.wait),
            clock=self.clock,
            progress=progress,
        )


def unavailable() -> Runner:
    raise UnavailableError("halide is not installed")


def test_the_rate_is_divided_by_the_peak() -> None:
    track = Track()
    (result,) = track.race(track.contestant("steady", 0.02)).results
    assert result.kernel == "work"
    assert result.contestant == "steady"
    assert result.rate == pytest.approx(50)
    assert result.peak_rate == pytest.approx(100)
    assert result.fraction_of_peak == pytest.approx(0.5)
    assert result.runs == 4
    assert result.max_abs_err == 0


def test_a_run_lies_between_two_bursts_when_nobody_else_works() -> None:
    track = Track()
    track.race(track.contestant("one", 0.02), track.contestant("two", 0.02), rules=Rules(rounds=2))
    preparation = ["prepare one", "one", "one", "prepare two", "two", "two"]
    assert track.log[:6] == preparation
    rest = track.log[6:]
    assert rest[0::4] == ["wait"] * 4
    assert rest[1::4] == ["burst"] * 4
    assert rest[2::4] == ["one", "two", "two", "one"]
    assert rest[3::4] == ["burst"] * 4


def test_the_larger_burst_is_the_peak_beside_a_run() -> None:
    for peaks in ([100e9, 40e9], [40e9, 100e9]):
        track = Track(peaks=peaks)
        (result,) = track.race(track.contestant("steady", 0.02)).results
        assert result.peak_rate == pytest.approx(100)
        assert result.fraction_of_peak == pytest.approx(0.5)


def test_the_fraction_is_the_median_of_ratios_not_the_ratio_of_medians() -> None:
    track = Track(peaks=[100e9, 100e9, 50e9, 50e9, 200e9, 200e9])
    contestant = track.contestant("varying", 0.02, 0.02, 0.02, 0.1, 0.01)
    # Rates 50, 10 and 100 beside peaks 100, 50 and 200: ratios 0.5, 0.2 and 0.5.
    (result,) = track.race(contestant, rules=Rules(rounds=3)).results
    assert result.rate == pytest.approx(50)
    assert result.peak_rate == pytest.approx(100)
    assert result.fraction_of_peak == pytest.approx(0.5)


def test_a_disturbed_run_does_not_move_the_median() -> None:
    track = Track()
    contestant = track.contestant("disturbed", 0.02, 0.02, 0.02, 5.0, 0.02)
    (result,) = track.race(contestant, rules=Rules(rounds=5)).results
    assert result.fraction_of_peak == pytest.approx(0.5)


def test_short_calls_are_repeated_until_they_can_be_measured() -> None:
    track = Track()
    # Runs of 1, 2, 4 and 8 calls: the cold ones at first do not tell that 5 ms are 10 calls.
    contestant = track.contestant("short", 0.03, 0.002, 0.001, 0.0005)
    (result,) = track.race(contestant, rules=Rules(rounds=3)).results
    assert track.log.count("short") == 1 + 1 + 2 + 4 + 8 + 3 * 10
    assert result.rate == pytest.approx(2000)
    assert result.runs == 3


def test_input_is_restored_before_each_call_and_outside_the_timing() -> None:
    track = Track()

    def prepare() -> Runner:
        runner = track.contestant("changing", 0.001).prepare()

        def restore() -> None:
            track.seconds += 10
            track.log.append("restore")

        return Runner(runner.run, runner.output, restore)

    (result,) = track.race(Contestant("changing", prepare), rules=Rules(rounds=1)).results
    calls = [word for word in track.log if word in {"restore", "changing"}]
    assert calls == ["restore", "changing"] * (1 + 1 + 2 + 4 + 5)
    assert result.rate == pytest.approx(1000)


def test_a_call_too_short_for_the_clock_is_not_repeated() -> None:
    track = Track()
    contestant = track.contestant("instant", 0.0, 0.0, 0.01)
    (result,) = track.race(contestant, rules=Rules(rounds=1)).results
    assert track.log.count("instant") == 3
    assert result.rate == pytest.approx(100)


def test_a_slow_contestant_uses_up_its_own_share_only() -> None:
    track = Track()
    outcome = track.race(
        track.contestant("slow", 7.0),
        track.contestant("fast", 0.02),
        rules=Rules(rounds=10, seconds_budget=10.0),
    )
    assert [result.runs for result in outcome.results] == [1, 10]


def test_everyone_runs_once_however_small_the_budget() -> None:
    track = Track()
    outcome = track.race(
        track.contestant("one", 3.0),
        track.contestant("two", 4.0),
        rules=Rules(rounds=10, seconds_budget=0.001),
    )
    assert [result.runs for result in outcome.results] == [1, 1]


def test_one_who_cannot_start_is_withdrawn_and_the_race_goes_on() -> None:
    track = Track()
    outcome = track.race(Contestant("Halide", unavailable), track.contestant("steady", 0.02))
    assert outcome.withdrawn == (Withdrawn("work", "Halide", "halide is not installed"),)
    assert [result.contestant for result in outcome.results] == ["steady"]


def test_nobody_left_to_race() -> None:
    outcome = Track().race(Contestant("Halide", unavailable))
    assert outcome.results == ()
    assert len(outcome.withdrawn) == 1


def test_a_small_error_is_reported() -> None:
    track = Track()
    contestant = track.contestant("near", 0.02, output=(1.0, 2.25))
    (result,) = track.race(contestant, rules=Rules(rounds=1), tolerance=0.25).results
    assert result.max_abs_err == 0.25


def test_a_wrong_output_does_not_race() -> None:
    track = Track()
    contestant = track.contestant("wrong", 0.02, output=(1.0, 3.0))
    outcome = track.race(contestant, tolerance=0.5)
    assert outcome.results == ()
    assert outcome.withdrawn == (
        Withdrawn(
            "work",
            "wrong",
            "wrong output: differs from the reference by 1, at most 0.5 is allowed",
            is_defect=True,
        ),
    )
    assert "burst" not in track.log


@pytest.mark.parametrize("output", [(1.0, math.nan), (1.0, math.inf), (1.0,)])
def test_an_output_without_a_finite_error_does_not_race(output: tuple[float, ...]) -> None:
    track = Track()
    outcome = track.race(track.contestant("wrong", 0.02, output=output))
    assert outcome.results == ()
    assert outcome.withdrawn[0].is_defect
    peer = replace(
        track.contestant("wrong", 0.02, output=output),
        kernels=lambda name, _: PeerKernels(name, "", "", ""),
    )
    assert not track.race(peer).withdrawn[0].is_defect
    assert "differs from the reference by inf" in outcome.withdrawn[0].reason


def test_progress_names_what_comes_next() -> None:
    track = Track()
    said: list[str] = []
    track.race(track.contestant("steady", 0.02), rules=Rules(rounds=2), progress=said.append)
    assert said == ["preparing steady", "round 1 of 2: steady", "round 2 of 2: steady"]


def test_names_must_be_distinct() -> None:
    track = Track()
    with pytest.raises(BenchError, match="contestants need distinct names; repeated: twin"):
        track.race(track.contestant("twin", 1.0), track.contestant("twin", 1.0))


@pytest.mark.parametrize("amount", [0.0, -1.0, math.nan])
def test_there_must_be_work(amount: float) -> None:
    with pytest.raises(BenchError, match=f"amount of work must be positive, got {amount}"):
        Work("work", amount, [], REFERENCE, Track().burst)


@pytest.mark.parametrize("peak", [0.0, -1.0, math.nan])
def test_the_peak_must_be_positive(peak: float) -> None:
    track = Track(peaks=[peak])
    with pytest.raises(BenchError, match="the peak beside 'steady' must be a positive number"):
        track.race(track.contestant("steady", 0.02))


@pytest.mark.parametrize("rounds", [0, -3])
def test_there_must_be_a_round(rounds: int) -> None:
    with pytest.raises(BenchError, match=f"at least 1 round, got rounds={rounds}"):
        Rules(rounds=rounds)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_times_must_be_positive(seconds: float) -> None:
    with pytest.raises(BenchError, match=f"seconds_budget must be a positive .*, got {seconds}"):
        Rules(seconds_budget=seconds)
    with pytest.raises(BenchError, match=f"seconds_per_run must be a positive .*, got {seconds}"):
        Rules(seconds_per_run=seconds)


@pytest.mark.parametrize("tolerance", [-0.5, math.nan])
def test_the_tolerance_must_not_be_negative(tolerance: float) -> None:
    with pytest.raises(BenchError, match=f"tolerance must be at least 0, got {tolerance}"):
        Work("work", 1, [], REFERENCE, Track().burst, tolerance)


def test_the_kernels_of_peers_are_found_after_the_race() -> None:
    track = Track()

    def kernels(name: str, run: Callable[[], None]) -> PeerKernels:
        track.log.append("kernels")
        run()
        return PeerKernels(name, "OpenBLAS", "0.3", "Haswell kernels", "too narrow")

    peer = replace(track.contestant("peer", 0.01), kernels=kernels)
    outcome = track.race(track.contestant("own", 0.01), peer)
    assert track.log[-2:] == ["kernels", "peer"]
    assert outcome.peers == (
        PeerKernels("peer", "OpenBLAS", "0.3", "Haswell kernels", "too narrow"),
    )
    assert [one.held_back for one in outcome.results] == [None, "too narrow"]


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.5),
        ([math.nan, 1.0], [math.nan, 1.0], 0.0),
        ([math.inf, -math.inf], [math.inf, -math.inf], 0.0),
        ([math.inf], [-math.inf], math.inf),
        ([math.nan], [1.0], math.inf),
        ([1.0], [math.nan], math.inf),
        ([1.0], [1.0, 1.0], math.inf),
        ([], [], 0.0),
    ],
)
def test_max_abs_err(output: list[float], reference: list[float], expected: float) -> None:
    assert max_abs_err(np.array(output, np.float32), np.array(reference)) == expected


def test_max_abs_err_keeps_the_digits_of_a_float64_reference() -> None:
    output = np.array([1.0], np.float32)
    assert max_abs_err(output, np.array([1.0 + 1e-10])) == pytest.approx(1e-10, rel=1e-5)


def test_the_spread_is_relative_to_the_median() -> None:
    assert _spread([0.5]) == 0
    assert _spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)
