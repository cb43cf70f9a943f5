from pathlib import Path

import pytest

LARGEST = """
/* The largest number. sizes: n=77 */
void largest(int n, const float x[restrict n], const int k[restrict n], float most[restrict 1])
{
    most[0] = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] * k[i] > most[0])
            most[0] = x[i] * k[i];
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two C functions, one of them without sizes."""
    (tmp_path / "largest.c").write_text(LARGEST)
    (tmp_path / "unsized.c").write_text(LARGEST.replace("sizes: n=77", ""))
    return tmp_path
