from pathlib import Path

import pytest

from polysched.machine.cgroup import quota_cores


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    return tmp_path / "proc"


@pytest.fixture
def cgroup(tmp_path: Path) -> Path:
    return tmp_path / "cgroup"


def test_nothing_limits_where_there_are_no_groups(proc: Path, cgroup: Path) -> None:
    assert quota_cores(proc, cgroup) is None


def test_version_2(proc: Path, cgroup: Path) -> None:
    write(proc / "self/cgroup", "0::/job/step\n")
    write(cgroup / "job/step/cpu.max", "250000 100000\n")
    assert quota_cores(proc, cgroup) == 2.5


def test_version_2_takes_the_tightest_of_all_groups_above(proc: Path, cgroup: Path) -> None:
    write(proc / "self/cgroup", "0::/job/step\n")
    write(cgroup / "job/step/cpu.max", "max 100000\n")
    write(cgroup / "job/cpu.max", "150000 100000\n")
    write(cgroup / "cpu.max", "400000 100000\n")
    assert quota_cores(proc, cgroup) == 1.5


def test_version_2_without_a_limit(proc: Path, cgroup: Path) -> None:
    write(proc / "self/cgroup", "0::/\n")
    write(cgroup / "cpu.max", "max 100000\n")
    assert quota_cores(proc, cgroup) is None


def test_a_path_of_the_host_falls_back_on_the_visible_root(proc: Path, cgroup: Path) -> None:
    write(proc / "self/cgroup", "0::/../../docker/abc\n")
    write(cgroup / "cpu.max", "50000 100000\n")
    assert quota_cores(proc, cgroup) == 0.5


@pytest.mark.parametrize("folder", ["cpu,cpuacct", "cpu"])
def test_version_1(proc: Path, cgroup: Path, folder: str) -> None:
    write(proc / "self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n")
    write(cgroup / folder / "job/cpu.cfs_quota_us", "300000\n")
    write(cgroup / folder / "job/cpu.cfs_period_us", "100000\n")
    write(cgroup / folder / "cpu.cfs_quota_us", "-1\n")
    write(cgroup / folder / "cpu.cfs_period_us", "100000\n")
    assert quota_cores(proc, cgroup) == 3.0


def test_nonsense_limits_nothing(proc: Path, cgroup: Path) -> None:
    write(proc / "self/cgroup", "no colons here\n0::/\n4:cpu:/\n")
    write(cgroup / "cpu.max", "0 0 0\n")
    write(cgroup / "cpu/cpu.cfs_quota_us", "0\n")
    write(cgroup / "cpu/cpu.cfs_period_us", "0\n")
    assert quota_cores(proc, cgroup) is None
