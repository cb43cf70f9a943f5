"""Private folders and files: only the user of this process can write them.

A user who can write a file of machine code controls this process. So a folder is opened once, its
owner and mode are read from the open descriptor, and its files are opened relative to this
descriptor. If the path is replaced in between, by a symbolic link or in a parent folder that other
users may write, the descriptor still refers to the checked folder. The files are checked too,
because a folder that is private now may have been writable by others before.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_READ = os.O_RDONLY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

UNFINISHED = ".part"
"""Suffix of files that are being written."""


class UnsafeFolderError(Exception):
    """Another user can write to a folder; the message says why.

    Attributes:
        can_be_closed: whether ``chmod 700`` would help: the folder belongs to the user, and is not
            shared by all users as ``/tmp`` is.
    """

    def __init__(self, message: str, *, can_be_closed: bool) -> None:
        super().__init__(message)
        self.can_be_closed = can_be_closed


@contextmanager
def private_folder(path: Path) -> Iterator[int]:
    """Open a folder that belongs to the effective user and that no other user can write.

    Raises:
        UnsafeFolderError: the folder belongs to another user, or others may write to it.
        OSError: there is no such folder, or it cannot be read.
    """
    folder = os.open(path, _READ | os.O_DIRECTORY)
    try:
        status = os.fstat(folder)
        if danger := _danger(status):
            is_own = status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX
            raise UnsafeFolderError(danger, can_be_closed=is_own)
        yield folder
    finally:
        os.close(folder)


def read_private(folder: int, name: str, *, most_bytes: int) -> bytes:
    """Read a file, and set its modification time to now if possible.

    Args:
        folder: a descriptor from `private_folder`.
        name: of the file in the folder. A symbolic link is not followed.
        most_bytes: a longer file is an error.

    Raises:
        OSError: the file does not exist, is too long, is not a regular file, belongs to another
            user, or is writable by others.
    """
    # Without O_NONBLOCK, opening a pipe would block.
    descriptor = os.open(name, _READ | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        if danger := _danger(status):
            raise OSError(danger)
        if status.st_size > most_bytes:
            raise OSError(f"it has {status.st_size} bytes; expected at most {most_bytes}")
        data = file.read()
        with suppress(OSError):
            os.utime(descriptor)
        return data


def write_private(folder: int, name: str, data: bytes) -> None:
    """Write a file atomically; an existing file is replaced.

    Raises:
        OSError: the file cannot be written; no part of it is left.
    """
    unfinished = f"{name}.{secrets.token_hex(8)}{UNFINISHED}"
    descriptor = os.open(unfinished, _CREATE, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished, dir_fd=folder)
        raise


def regular_files(folder: int) -> list[tuple[str, os.stat_result]]:
    """The regular files of a folder, except files that another process deletes concurrently."""
    files = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    files.append((entry.name, status))
    return files


def delete(folder: int, name: str) -> None:
    """Delete a file, unless another process has already deleted it."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _danger(status: os.stat_result) -> str | None:
    """Why another user may have written a file or folder; None if none can."""
    user = os.geteuid()
    if status.st_uid != user:
        return f"it belongs to user {status.st_uid}, but this process runs as user {user}"
    if status.st_mode & _OTHERS_WRITE:
        return f"other users may write to it (mode {stat.S_IMODE(status.st_mode):o})"
    return None
