from pathlib import Path

from polysched.runtime.cache import ENVIRONMENT_VARIABLE, LIMIT_VARIABLE, ObjectCache, cache_key
from tests.cli.conftest import Polysched


def test_folder_entries_size_and_limit(polysched: Polysched, tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    for number in range(3):
        cache.store(cache_key(str(number)), b"x" * 1000)
    (tmp_path / "notes.txt").write_text("mine")
    settings = {ENVIRONMENT_VARIABLE: str(tmp_path), LIMIT_VARIABLE: "20M", "COLUMNS": "200"}
    lines = polysched("cache", **settings).stdout.splitlines()
    assert dict(line.strip().split(maxsplit=1) for line in lines) == {
        "folder": str(tmp_path),
        "entries": "3",
        "size": "3.1 KiB (3,153 bytes)",
        "limit": "20.0 MiB (20,971,520 bytes)",
    }
    result = polysched("cache", "--clear", **settings)
    assert result.exit_code == 0
    assert "entries  0" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_before_anything_is_compiled(polysched: Polysched) -> None:
    result = polysched("cache", COLUMNS="200")
    assert result.exit_code == 0
    assert "none: the folder does not exist, or cannot be used" in result.stdout
    assert "512.0 MiB" in result.stdout


def test_no_cache(polysched: Polysched) -> None:
    result = polysched("cache", "--clear", **{ENVIRONMENT_VARIABLE: "off"}, COLUMNS="200")
    assert result.exit_code == 0
    assert "POLYSCHED_CACHE=off" in result.stdout
