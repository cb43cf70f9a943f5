"""Cache of compiled objects on disk.

An entry is a file named by its key. It holds a magic number, the SHA-256 of key and payload, and
the payload. Files are written atomically. A file whose SHA-256 does not match is ignored: a
truncated or changed file, or the entry of another key under this name. So is a file that another
user may have written (:mod:`polysched.runtime.private_folder`).

A folder that other users may write to is not used, and one `CacheWarning` reports this. Other
failures of the file system are only logged: without a usable folder each process compiles anew.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import re
import shlex
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import platformdirs

from polysched.errors import CacheWarning
from polysched.runtime.private_folder import (
    UNFINISHED,
    UnsafeFolderError,
    delete,
    private_folder,
    read_private,
    regular_files,
    write_private,
)

ENVIRONMENT_VARIABLE = "POLYSCHED_CACHE"
LIMIT_VARIABLE = "POLYSCHED_CACHE_LIMIT"
OFF = "off"
DEFAULT_LIMIT_BYTES = 512 * 1024**2

_MAGIC = b"polysched object 2\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".object"
_LARGEST_ENTRY = 1024**3
# One store in this number checks the size of the folder. The key decides which stores do.
_EVICTION_INTERVAL = 16
# Seconds after which an unfinished file counts as abandoned.
_ABANDONED = 3600.0
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


def cache_key(*parts: str) -> str:
    """The SHA-256 of the parts, with their lengths, in hexadecimal."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class Usage(NamedTuple):
    """The number of entries, and the sum of their sizes in bytes."""

    entries: int
    bytes: int


@dataclass(frozen=True)
class ObjectCache:
    """A folder of compiled objects; without a folder, a cache that stores nothing.

    If the entries exceed ``limit_bytes``, the least recently used entries are deleted. The size is
    checked at some stores only, so a few stores may exceed the limit. Several processes may load,
    store and evict at the same time.
    """

    folder: Path | None
    limit_bytes: int = DEFAULT_LIMIT_BYTES

    def load(self, key: str) -> bytes | None:
        """The payload stored under ``key``; None if there is no valid entry."""
        name = _name(key)
        data = self._inside(lambda folder: read_private(folder, name, most_bytes=_LARGEST_ENTRY))
        if data is None:
            return None
        start = len(_MAGIC) + _DIGEST_BYTES
        if data[:start] != _header(key, data[start:]):
            _log.debug("ignoring damaged cache entry %s in %s", name, self.folder)
            return None
        return data[start:]

    def store(self, key: str, payload: bytes) -> None:
        """Store ``payload`` under ``key``; an existing entry is replaced."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            _log.debug("cannot make the cache folder %s: %s", self.folder, error)
            return
        data = _header(key, payload) + payload
        self._inside(lambda folder: write_private(folder, _name(key), data))
        if int(key[:8], 16) % _EVICTION_INTERVAL == 0:
            self.evict()

    def evict(self) -> None:
        """Delete the least recently used entries until the others fit into ``limit_bytes``."""
        self._inside(lambda folder: _evict(folder, self.limit_bytes))

    def usage(self) -> Usage | None:
        """The number and size of the entries; None if the folder cannot be used."""
        return self._inside(_usage)

    def clear(self) -> None:
        """Delete all entries."""
        self._inside(lambda folder: _evict(folder, 0))

    def _inside(self, action: Callable[[int], _T]) -> _T | None:
        """Run an action on the folder's descriptor; None if it fails."""
        if self.folder is None:
            return None
        try:
            with private_folder(self.folder) as folder:
                return action(folder)
        except UnsafeFolderError as error:
            _warn_once(_unsafe(self.folder, error))
        except OSError as error:
            _log.debug("cannot use the cache folder %s: %s", self.folder, error)
        return None


def default_cache() -> ObjectCache:
    """The user's cache folder, or the folder in the environment variable ``POLYSCHED_CACHE``.

    ``POLYSCHED_CACHE=off`` disables the cache on disk. The variable
    ``POLYSCHED_CACHE_LIMIT`` limits the size, in bytes, or with K, M or G: ``200M``.
    """
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen == OFF:
        return ObjectCache(None)
    path = chosen or platformdirs.user_cache_path("polysched") / "objects"
    # Path.expanduser raises an error if the home folder is unknown.
    folder = Path(os.path.expanduser(path))
    if str(folder).startswith("~"):
        _log.debug("no cache on disk: the home folder of '%s' is not known", folder)
        return ObjectCache(None)
    return ObjectCache(folder, _limit())


def _limit() -> int:
    text = os.environ.get(LIMIT_VARIABLE, "")
    match_ = re.fullmatch(r"(\d+) ?([kmg]?)(i?b)?", text.strip(), re.IGNORECASE)
    if match_:
        return int(match_[1]) * _UNITS[match_[2].lower()]
    if text.strip():
        _warn_once(
            f"{LIMIT_VARIABLE}={text!r} is not a size; expected a number of bytes such as 200M or "
            f"2G. The limit is {DEFAULT_LIMIT_BYTES // 1024**2}M"
        )
    return DEFAULT_LIMIT_BYTES


def _name(key: str) -> str:
    return f"{key}{_SUFFIX}"


def _header(key: str, payload: bytes) -> bytes:
    """The first bytes of an entry. The digest includes the key, so entries cannot be exchanged."""
    digest = hashlib.sha256(f"{len(key)} {key} ".encode())
    digest.update(payload)
    return _MAGIC + digest.digest()


def _entries(folder: int) -> list[tuple[str, os.stat_result]]:
    return [(name, status) for name, status in regular_files(folder) if name.endswith(_SUFFIX)]


def _usage(folder: int) -> Usage:
    sizes = [status.st_size for _, status in _entries(folder)]
    return Usage(len(sizes), sum(sizes))


def _evict(folder: int, limit: int) -> None:
    entries = _entries(folder)
    excess = sum(status.st_size for _, status in entries) - limit
    for name, status in sorted(entries, key=lambda entry: entry[1].st_mtime_ns):
        if excess <= 0:
            break
        delete(folder, name)
        excess -= status.st_size
    for name, status in regular_files(folder):
        if name.endswith(UNFINISHED) and status.st_mtime < time.time() - _ABANDONED:
            delete(folder, name)


def _unsafe(folder: Path, error: UnsafeFolderError) -> str:
    advice = f"run 'chmod 700 {shlex.quote(str(folder))}', or " if error.can_be_closed else ""
    return (
        f"the cache folder '{folder}' is not used: {error}, and whoever can write to it chooses "
        f"the code that runs. Kernels are compiled anew in each process; {advice}name a folder of "
        f"your own in {ENVIRONMENT_VARIABLE} ('{OFF}' for none)"
    )


@functools.cache
def _warn_once(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=2)
