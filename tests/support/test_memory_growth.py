import platform
from collections.abc import Callable

import pytest

from polysched.runtime.jit import compile_once
from tests.support.memory_growth import bytes_in_use, check, main, run

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the heap is measured by glibc's mallinfo2"
)

MOST = 50e6 / 10_000
"""Bytes a round: 10,000 rounds may take 50 MB. islpy's own methods take six times as much."""


@pytest.mark.parametrize(("work", "rounds"), [(check, 60), (run, 15)])
def test_a_round_leaves_nothing_behind(work: Callable[[int], object], rounds: int) -> None:
    """Each try ends with fuller caches, whose size is bounded; that of machine code is emptied."""
    for number in range(5):
        work(number)
    growths = []
    for attempt in range(1, 5):
        compile_once.cache_clear()
        start = bytes_in_use()
        for number in range(rounds):
            work(1000 * attempt + number)
        compile_once.cache_clear()
        growths.append((bytes_in_use() - start) / rounds)
        if growths[-1] < MOST:
            break
    assert growths[-1] < MOST


def test_the_command_says_what_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--rounds", "3", "--warm-up", "1", "--most", "-1", "check"])
    assert ended.value.code == 1
    assert "check: 3 rounds, " in capsys.readouterr().out
