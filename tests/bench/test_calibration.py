"""Calibration: what is measured, where it is written, and that kernels cost what they must."""

import pytest

from polysched.bench import calibration
from polysched.bench.calibration import Calibration, calibrate
from polysched.machine.costs import CALIBRATED, Costs
from polysched.machine.files import from_toml, to_toml
from polysched.machine.load import load_machine


@pytest.fixture(scope="module")
def measured() -> Calibration:
    told: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "RUNS", 1)
        patch.setattr(calibration, "SHORTEST", 1e-5)
        costs = calibrate(load_machine(), told.append)
    assert told == list(CALIBRATED), "the progress names each cost"
    return costs


def test_each_cost_is_measured_and_positive(measured: Calibration) -> None:
    assert tuple(measured.measured) == CALIBRATED
    assert all(cycles > 0 for cycles in measured.measured.values())


def test_a_calibrated_machine_differs_in_its_costs_only_and_its_file_reads_back(
    measured: Calibration,
) -> None:
    host = load_machine()
    machine = measured.machine(host)
    assert {name: getattr(machine.costs, name) for name in CALIBRATED} == measured.measured
    assert machine.costs.tile_entry == host.costs.tile_entry
    assert from_toml(to_toml(machine), "text") == machine


def test_the_rows_compare_with_the_costs_in_use(measured: Calibration) -> None:
    rows = list(measured.rows(Costs(division=5.0)))
    assert [name for name, _, _ in rows] == list(CALIBRATED)
    assert {name: used for name, used, _ in rows}["division"] == 5.0
