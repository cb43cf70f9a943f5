from pathlib import Path

import pytest

from tests.golden import compare_with_golden


def test_a_text_is_written_then_compared(tmp_path: Path) -> None:
    compare_with_golden("a/b.txt", "text\n", update=True, folder=tmp_path)
    assert (tmp_path / "a/b.txt").read_text() == "text\n"
    compare_with_golden("a/b.txt", "text\n", folder=tmp_path)
    with pytest.raises(AssertionError, match="run pytest --update-golden"):
        compare_with_golden("a/b.txt", "other\n", folder=tmp_path)


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"no golden file .*b\.txt; run pytest"):
        compare_with_golden("b.txt", "text\n", folder=tmp_path)
