import os
from pathlib import Path

import pytest

from polysched.runtime.private_folder import (
    UnsafeFolderError,
    delete,
    private_folder,
    read_private,
    regular_files,
    write_private,
)


def test_a_file_is_written_whole_and_read(tmp_path: Path) -> None:
    with private_folder(tmp_path) as folder:
        write_private(folder, "file", b"contents")
        os.utime(tmp_path / "file", (1000, 1000))
        assert read_private(folder, "file", most_bytes=8) == b"contents"
        assert [name for name, _ in regular_files(folder)] == ["file"]
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "file").stat().st_mtime > 1000  # the time of its last use


def test_what_is_too_long_is_not_read(tmp_path: Path) -> None:
    with private_folder(tmp_path) as folder:
        write_private(folder, "file", b"contents")
        with pytest.raises(OSError, match="it has 8 bytes; expected at most 7"):
            read_private(folder, "file", most_bytes=7)


def test_names_lead_to_the_folder_that_was_checked(tmp_path: Path) -> None:
    """Another folder that takes its place meanwhile, which others may write to, is not seen."""
    path = tmp_path / "folder"
    path.mkdir(mode=0o700)
    with private_folder(path) as folder:
        path.rename(tmp_path / "moved")
        path.mkdir()
        path.chmod(0o777)
        (path / "file").write_bytes(b"planted")
        with pytest.raises(FileNotFoundError):
            read_private(folder, "file", most_bytes=100)
        write_private(folder, "file", b"own")
    assert (tmp_path / "moved" / "file").read_bytes() == b"own"
    with pytest.raises(UnsafeFolderError, match="mode 777") as caught, private_folder(path):
        pass
    assert caught.value.can_be_closed


def test_deleting_what_another_process_has_deleted(tmp_path: Path) -> None:
    with private_folder(tmp_path) as folder:
        delete(folder, "nothing")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError), private_folder(tmp_path / "file"):
        pass
