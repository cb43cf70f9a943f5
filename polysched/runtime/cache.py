"""Compiled objects kept on disk between processes.

An entry is a file named by its key: a magic number, the SHA-256 of the payload, the payload. It
appears whole or not at all, and what does not check is treated as absent. No failure of the file
system ever reaches the caller: without a usable folder everything works, only slower the next time.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

ENVIRONMENT_VARIABLE = "POLYSCHED_CACHE"
OFF = "off"
DEFAULT_LIMIT_BYTES = 512 * 1024**2

_MAGIC = b"polysched object 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".object"
# One store in so many looks at the whole folder; which ones, the key decides.
_EVICTION_INTERVAL = 16

_log = logging.getLogger(__name__)


def cache_key(*parts: str) -> str:
    """The SHA-256 of the parts in hexadecimal; different lists of parts give different keys."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True)
class ObjectCache:
    """A folder of compiled objects; without a folder, a cache that keeps nothing.

    When the entries grow beyond ``limit_bytes`` the least recently used ones go. Between two looks
    at the folder the size may exceed the limit by what a few stores add.
    """

    folder: Path | None
    limit_bytes: int = DEFAULT_LIMIT_BYTES

    def load(self, key: str) -> bytes | None:
        """The payload stored under ``key``; None where there is none, or only a damaged one."""
        if self.folder is None:
            return None
        path = self._path(self.folder, key)
        try:
            payload = _payload(path.read_bytes())
        except OSError as error:
            _log.debug("no cache entry %s: %s", path, error)
            return None
        if payload is None:
            _log.debug("ignoring damaged cache entry %s", path)
            return None
        # The order of the modification times is that of use, where the folder lets it.
        with contextlib.suppress(OSError):
            os.utime(path)
        return payload

    def store(self, key: str, payload: bytes) -> None:
        """Keep ``payload`` under ``key``, in place of what is there."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_atomically(
                self._path(self.folder, key),
                _MAGIC + hashlib.sha256(payload).digest() + payload,
            )
        except OSError as error:
            _log.debug("cannot store a cache entry in %s: %s", self.folder, error)
            return
        if int(key[:8], 16) % _EVICTION_INTERVAL == 0:
            self.evict()

    def evict(self) -> None:
        """Delete the least recently used entries until the rest is within ``limit_bytes``."""
        if self.folder is None:
            return
        try:
            with os.scandir(self.folder) as found:
                files = [(entry.path, entry.stat()) for entry in found if entry.is_file()]
            excess = sum(status.st_size for _, status in files) - self.limit_bytes
            for path, status in sorted(files, key=lambda file: file[1].st_mtime_ns):
                if excess <= 0:
                    break
                Path(path).unlink(missing_ok=True)
                excess -= status.st_size
        except OSError as error:
            _log.debug("cannot tidy the cache folder %s: %s", self.folder, error)

    def _path(self, folder: Path, key: str) -> Path:
        return folder / f"{key}{_SUFFIX}"


def default_cache() -> ObjectCache:
    """The user's cache folder, or what the environment variable ``POLYSCHED_CACHE`` says.

    Its value is the path of a folder; ``off`` stands for no cache on disk.
    """
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen == OFF:
        return ObjectCache(None)
    if chosen:
        return ObjectCache(Path(chosen).expanduser())
    return ObjectCache(platformdirs.user_cache_path("polysched") / "objects")


def _payload(data: bytes) -> bytes | None:
    start = len(_MAGIC) + _DIGEST_BYTES
    digest, payload = data[len(_MAGIC) : start], data[start:]
    intact = data.startswith(_MAGIC) and hashlib.sha256(payload).digest() == digest
    return payload if intact else None


def _write_atomically(path: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
