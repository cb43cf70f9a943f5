import logging
import os
from pathlib import Path

import platformdirs
import pytest

from polysched.runtime.cache import ENVIRONMENT_VARIABLE, ObjectCache, cache_key, default_cache

KEY = cache_key("one")
# A key whose store looks at the folder's size, and one whose store does not.
TIDYING_KEY = "0" * 64
OTHER_KEY = "00000001" + "0" * 56


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "some" / "folder")


def _entry(cache: ObjectCache) -> Path:
    assert cache.folder is not None
    (path,) = cache.folder.iterdir()
    return path


def test_keys_tell_lists_of_parts_apart() -> None:
    lists = [(), ("",), ("", ""), ("ab",), ("a", "b"), ("b", "a"), ("a", "b", "")]
    assert len({cache_key(*parts) for parts in lists}) == len(lists)
    assert cache_key("a", "b") == cache_key("a", "b")
    assert len(KEY) == 64


def test_what_is_stored_is_loaded(cache: ObjectCache) -> None:
    assert cache.load(KEY) is None
    cache.store(KEY, b"payload")
    assert cache.load(KEY) == b"payload"
    assert cache.load(cache_key("two")) is None
    cache.store(KEY, b"")
    assert cache.load(KEY) == b""


def test_the_folder_is_the_users_own(cache: ObjectCache) -> None:
    cache.store(KEY, b"payload")
    assert cache.folder is not None
    assert cache.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("length", [0, 1, 18, 19, 30, 51, 57])
def test_truncated_entry_is_ignored_and_replaced(cache: ObjectCache, length: int) -> None:
    cache.store(KEY, b"payload")
    path = _entry(cache)
    path.write_bytes(path.read_bytes()[:length])
    assert cache.load(KEY) is None
    cache.store(KEY, b"payload")
    assert cache.load(KEY) == b"payload"


def test_any_changed_byte_is_noticed(cache: ObjectCache) -> None:
    cache.store(KEY, b"payload")
    path = _entry(cache)
    intact = path.read_bytes()
    for position in range(len(intact)):
        damaged = bytearray(intact)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        assert cache.load(KEY) is None, position


def test_damage_is_logged(cache: ObjectCache, caplog: pytest.LogCaptureFixture) -> None:
    cache.store(KEY, b"payload")
    _entry(cache).write_bytes(b"nonsense")
    with caplog.at_level(logging.DEBUG, "polysched"):
        assert cache.load(KEY) is None
    assert "damaged cache entry" in caplog.text


def test_folder_that_is_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        cache = ObjectCache(folder)
        with caplog.at_level(logging.DEBUG, "polysched"):
            cache.store(TIDYING_KEY, b"payload")
            assert cache.load(TIDYING_KEY) is None
            cache.evict()
        assert "cannot store a cache entry" in caplog.text
    assert (tmp_path / "file").read_text() == "mine"


def test_folder_that_cannot_be_made() -> None:
    cache = ObjectCache(Path("/proc/polysched"))
    cache.store(TIDYING_KEY, b"payload")
    assert cache.load(TIDYING_KEY) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to the superuser")
def test_read_only_folder(cache: ObjectCache) -> None:
    cache.store(KEY, b"payload")
    assert cache.folder is not None
    cache.folder.chmod(0o500)
    cache.store(OTHER_KEY, b"more")
    assert cache.load(KEY) == b"payload"
    assert cache.load(OTHER_KEY) is None
    cache.folder.chmod(0o700)


def test_entry_that_cannot_be_replaced_leaves_no_partial_file(cache: ObjectCache) -> None:
    cache.store(KEY, b"payload")
    path = _entry(cache)
    path.unlink()
    path.mkdir()
    cache.store(KEY, b"payload")
    assert cache.load(KEY) is None
    assert _entry(cache) == path


def test_no_folder_keeps_nothing() -> None:
    cache = ObjectCache(None)
    cache.store(TIDYING_KEY, b"payload")
    cache.evict()
    assert cache.load(TIDYING_KEY) is None


def _fill(cache: ObjectCache, count: int) -> list[str]:
    """Entries of about 1 kB, the first the oldest."""
    assert cache.folder is not None
    keys = [f"{1 + 16 * number:08x}" + "0" * 56 for number in range(count)]
    for age, key in enumerate(keys):
        cache.store(key, b"x" * 949)
        os.utime(cache.folder / f"{key}.object", (1000 + age, 1000 + age))
    return keys


def test_the_least_recently_used_entries_go(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, limit_bytes=3500)
    keys = _fill(cache, 6)
    assert cache.load(keys[0]) is not None  # now the last one used
    cache.evict()
    kept = [key for key in keys if cache.load(key) is not None]
    assert kept == [keys[0], keys[4], keys[5]]


def test_within_the_limit_nothing_goes(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, limit_bytes=6000)
    keys = _fill(cache, 6)
    cache.evict()
    assert all(cache.load(key) is not None for key in keys)


def test_some_stores_tidy_up(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, limit_bytes=2500)
    _fill(cache, 6)
    cache.store(OTHER_KEY, b"payload")
    assert len(list(tmp_path.iterdir())) == 6  # OTHER_KEY is the first key of _fill
    cache.store(TIDYING_KEY, b"payload")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2500
    assert cache.load(TIDYING_KEY) == b"payload"


def test_the_environment_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    assert default_cache().folder == tmp_path
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "~/here")
    assert default_cache().folder == Path.home() / "here"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "off")
    assert default_cache().folder is None
    for nothing in ("", None):
        if nothing is None:
            monkeypatch.delenv(ENVIRONMENT_VARIABLE)
        else:
            monkeypatch.setenv(ENVIRONMENT_VARIABLE, nothing)
        assert default_cache().folder == platformdirs.user_cache_path("polysched") / "objects"
