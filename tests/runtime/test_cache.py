import logging
import os
import random
import resource
import warnings
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from polysched.errors import CacheWarning
from polysched.runtime import cache as cache_module
from polysched.runtime.cache import (
    DEFAULT_LIMIT_BYTES,
    ENVIRONMENT_VARIABLE,
    LIMIT_VARIABLE,
    ObjectCache,
    Usage,
    cache_key,
    default_cache,
)

KEY = cache_key("one")
# A key whose store looks at the folder's size, and one whose store does not.
TIDYING_KEY = "0" * 64
OTHER_KEY = "00000001" + "0" * 56


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "some" / "folder")


@pytest.fixture(autouse=True)
def _warn_anew() -> Iterator[None]:
    cache_module._warn_once.cache_clear()
    yield
    cache_module._warn_once.cache_clear()


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


@pytest.mark.parametrize("length", [0, 1, 18, 19, 30, 51, 57])  # of 58
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
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert cache.load(KEY) is None, position
    path.write_bytes(intact + b"\0")
    assert cache.load(KEY) is None


def test_the_entry_of_another_key_is_ignored(cache: ObjectCache) -> None:
    other = cache_key("two")
    cache.store(other, b"another kernel")
    _entry(cache).rename(_entry(cache).with_name(f"{KEY}.object"))
    assert cache.load(KEY) is None
    cache.store(KEY, b"payload")
    assert cache.load(KEY) == b"payload"


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
        assert "cannot make the cache folder" in caplog.text
    assert (tmp_path / "file").read_text() == "mine"


def test_folder_that_cannot_be_made() -> None:
    cache = ObjectCache(Path("/proc/polysched"))
    cache.store(TIDYING_KEY, b"payload")
    assert cache.load(TIDYING_KEY) is None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o722])
def test_a_folder_that_others_may_write_to_is_not_used(cache: ObjectCache, mode: int) -> None:
    cache.store(KEY, b"payload")
    assert cache.folder is not None
    cache.folder.chmod(mode)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cache.load(KEY) is None
        cache.store(OTHER_KEY, b"more")
        assert cache.load(OTHER_KEY) is None
        cache.evict()
        cache.clear()
        assert cache.usage() is None
    (warning,) = caught  # once
    assert warning.category is CacheWarning
    text = str(warning.message)
    assert text.startswith(f"the cache folder '{cache.folder}' is not used: other users may write")
    assert f"(mode {mode:o})" in text
    # Nobody is told to close a folder that all users share.
    assert (f"chmod 700 {cache.folder}" in text) == (mode != 0o1777)
    cache.folder.chmod(0o700)
    assert cache.load(KEY) == b"payload"
    assert cache.load(OTHER_KEY) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_a_folder_of_another_user_is_not_used(cache: ObjectCache) -> None:
    cache.store(KEY, b"payload")
    assert cache.folder is not None
    os.chown(cache.folder, 12345, -1)
    with pytest.warns(
        CacheWarning, match="it belongs to user 12345, but this .* as user 0"
    ) as all_:
        assert cache.load(KEY) is None
    assert "chmod" not in str(all_[0].message)
    assert "name a folder of your own in POLYSCHED_CACHE" in str(all_[0].message)


def test_each_unsafe_folder_is_reported(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o777)
        with pytest.warns(CacheWarning, match=name):
            ObjectCache(tmp_path / name).load(KEY)


def test_an_entry_that_others_may_have_written_is_ignored(cache: ObjectCache) -> None:
    cache.store(KEY, b"payload")
    _entry(cache).chmod(0o666)
    assert cache.load(KEY) is None
    cache.store(KEY, b"payload")
    assert cache.load(KEY) == b"payload"
    if os.geteuid() == 0:
        os.chown(_entry(cache), 12345, -1)
        assert cache.load(KEY) is None


def test_an_entry_that_is_a_link_is_ignored_and_replaced(
    cache: ObjectCache, tmp_path: Path
) -> None:
    cache.store(KEY, b"payload")
    target = tmp_path / "elsewhere"
    _entry(cache).rename(target)
    assert cache.folder is not None
    (cache.folder / f"{KEY}.object").symlink_to(target)
    assert cache.load(KEY) is None
    before = target.read_bytes()
    cache.store(KEY, b"other")
    assert (cache.load(KEY), target.read_bytes()) == (b"other", before)


def test_a_pipe_in_place_of_an_entry_is_not_waited_for(cache: ObjectCache) -> None:
    cache.store(KEY, b"payload")
    path = _entry(cache)
    path.unlink()
    os.mkfifo(path)
    assert cache.load(KEY) is None


def test_a_link_to_a_private_folder_is_followed(cache: ObjectCache, tmp_path: Path) -> None:
    cache.store(KEY, b"payload")
    assert cache.folder is not None
    (tmp_path / "link").symlink_to(cache.folder)
    assert ObjectCache(tmp_path / "link").load(KEY) == b"payload"
    cache.folder.chmod(0o777)
    with pytest.warns(CacheWarning, match="link' is not used"):
        assert ObjectCache(tmp_path / "link").load(KEY) is None


def test_a_full_disk_leaves_nothing_behind(cache: ObjectCache) -> None:
    cache.store(KEY, b"payload")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        cache.store(OTHER_KEY, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert cache.load(OTHER_KEY) is None
    assert _entry(cache).name == f"{KEY}.object"


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


def test_only_entries_and_abandoned_parts_are_deleted(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, limit_bytes=0)
    _fill(cache, 3)
    for name in ("notes.txt", "a.part", "b.part"):
        (tmp_path / name).write_text("x" * 5000)
    os.utime(tmp_path / "a.part", (1000, 1000))
    (tmp_path / "folder.object").mkdir()
    cache.evict()
    assert {path.name for path in tmp_path.iterdir()} == {"notes.txt", "b.part", "folder.object"}


def test_usage_and_clear(cache: ObjectCache) -> None:
    assert cache.usage() is None
    cache.store(KEY, b"payload")
    cache.store(OTHER_KEY, b"more")
    assert cache.usage() == Usage(2, 2 * 51 + len(b"payloadmore"))
    cache.clear()
    assert cache.usage() == Usage(0, 0)


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
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, ".")
    assert default_cache().folder == Path()
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "~/here")
    assert default_cache().folder == Path.home() / "here"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "off")
    assert default_cache().folder is None
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "~nobody-of-this-name/here")
    assert default_cache().folder is None
    for nothing in ("", None):
        if nothing is None:
            monkeypatch.delenv(ENVIRONMENT_VARIABLE)
        else:
            monkeypatch.setenv(ENVIRONMENT_VARIABLE, nothing)
        assert default_cache().folder == platformdirs.user_cache_path("polysched") / "objects"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", DEFAULT_LIMIT_BYTES),
        ("0", 0),
        ("12345", 12345),
        ("20k", 20 * 1024),
        ("200M", 200 * 1024**2),
        (" 3 GiB ", 3 * 1024**3),
    ],
)
def test_the_environment_limits(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    assert default_cache().limit_bytes == size


@pytest.mark.parametrize("text", ["many", "-1", "1.5G", "10T"])
def test_a_limit_that_is_no_size(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    with pytest.warns(CacheWarning, match="is not a size; expected a number of bytes such as 200M"):
        assert default_cache().limit_bytes == DEFAULT_LIMIT_BYTES
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        default_cache()


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: Path("~/.cache") / name)
    monkeypatch.setattr(os.path, "expanduser", os.fspath)  # as if the user had no entry
    assert default_cache().folder is None


def _crowded(folder: Path, seed: int) -> bool:
    """Whether all that is found in a cache that others use too is what was stored."""
    cache, draw = ObjectCache(folder, limit_bytes=60_000), random.Random(seed)
    found = 0
    for _ in range(400):
        number = draw.randrange(40)
        key, payload = cache_key(str(number)), bytes([number]) * 4000
        if draw.random() < 0.5:
            cache.store(key, payload)
        elif (loaded := cache.load(key)) is not None:
            if loaded != payload:
                return False
            found += 1
        if draw.random() < 0.1:
            cache.evict()
    return found > 10


def test_processes_store_load_and_evict_at_the_same_time(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    children = []
    for seed in range(3):
        child = os.fork()
        if child == 0:  # the child must not come back into pytest
            result = 1
            try:
                result = 0 if _crowded(folder, seed) else 1
            finally:
                os._exit(result)
        children.append(child)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not list(folder.glob("*.part"))
    ObjectCache(folder, limit_bytes=60_000).evict()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 60_000
