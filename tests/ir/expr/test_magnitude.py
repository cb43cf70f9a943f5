import islpy as isl
import pytest

from polysched.schedule.limits import LARGEST, STEEPEST, is_moderate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[n] -> { [i] -> [i + n + 3] }", True),
        (f"{{ [i] -> [{STEEPEST} * i] }}", True),
        (f"{{ [i] -> [{STEEPEST + 1} * i] }}", False),
        (f"{{ [i] -> [-{STEEPEST + 1} * i] }}", False),
        (f"{{ [i, j] -> [{STEEPEST // 2 + 1} * i - {STEEPEST // 2} * j] }}", False),
        ("{ [i] -> [i mod 1099511627776] }", True),
        ("{ [i] -> [1099511627776 * floor(i / 3)] }", False),
        (f"{{ [i] -> [i + {LARGEST}] }}", True),
        (f"{{ [i] -> [i + {LARGEST + 1}] }}", False),
        (f"[n] -> {{ [i] -> [i - {LARGEST + 1} * n] }}", False),
        (f"{{ [i] -> [floor(i / {LARGEST})] }}", True),
        (f"{{ [i] -> [floor(i / {LARGEST + 1})] }}", False),
        (f"{{ [i] -> [3 * floor((5 + floor(i / {2 * LARGEST + 1})) / 7)] }}", False),
        (f"{{ [i] -> [i] : i > 3; [i] -> [{4 * LARGEST} * i] : i <= 3 }}", False),
    ],
)
def test_functions(text: str, expected: bool) -> None:
    assert is_moderate(isl.PwAff(text)) is expected
