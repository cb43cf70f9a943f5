"""Processor quota of the control group (version 1 or 2) of this process, e.g. in a container."""

from pathlib import Path


def quota_cores(proc: Path, cgroup: Path) -> float | None:
    """Return the processor quota of this process in cores, or None if there is no limit.

    The tightest limit from the process's own group up to the root counts.

    Args:
        proc: the root of procfs (``/proc``).
        cgroup: the folder of control groups (``/sys/fs/cgroup``).
    """
    lines = _text(proc / "self" / "cgroup").splitlines()
    limits = [limit for line in lines for limit in _limits(line, cgroup)]
    return min(limits, default=None)


def _limits(line: str, cgroup: Path) -> list[float]:
    """Return the limits of one line of /proc/self/cgroup, ``hierarchy:controllers:path``."""
    parts = line.split(":", 2)
    if len(parts) != 3:
        return []
    _, controllers, path = parts
    if not controllers:
        return [
            limit
            for folder in _ancestors(cgroup, path)
            if (limit := _version_2(folder)) is not None
        ]
    if "cpu" not in controllers.split(","):
        return []
    # Version 1 mounts controllers under their joint name, with a link for each controller.
    roots = [root for root in (cgroup / controllers, cgroup / "cpu") if root.is_dir()]
    return [
        limit
        for root in roots[:1]
        for folder in _ancestors(root, path)
        if (limit := _version_1(folder)) is not None
    ]


def _ancestors(root: Path, path: str) -> list[Path]:
    """Return the group's folder and the folders above it up to `root`; some may not exist.

    Inside a container the path may be the host's, of which only the root is visible.
    """
    names = [name for name in path.split("/") if name not in ("", ".", "..")]
    return [root.joinpath(*names[:count]) for count in range(len(names), -1, -1)]


def _version_2(folder: Path) -> float | None:
    words = _text(folder / "cpu.max").split()
    if len(words) != 2 or not (words[0].isdigit() and words[1].isdigit()):
        return None
    return _ratio(int(words[0]), int(words[1]))


def _version_1(folder: Path) -> float | None:
    quota = _text(folder / "cpu.cfs_quota_us").strip()
    period = _text(folder / "cpu.cfs_period_us").strip()
    if not (quota.isdigit() and period.isdigit()):
        return None  # no limit: the file is missing or holds -1
    return _ratio(int(quota), int(period))


def _ratio(quota: int, period: int) -> float | None:
    return quota / period if quota > 0 and period > 0 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
