import pytest

from polysched.ir.core.cache_lines import line_count, line_offsets


@pytest.mark.parametrize(
    ("extents", "element_bytes", "expected"),
    [
        ((), 4, [()]),
        ((1,), 4, [(0,)]),
        ((16,), 4, [(0,)]),
        ((17,), 4, [(0,), (16,)]),
        ((2, 9), 8, [(0, 0), (0, 8), (1, 0), (1, 8)]),
        ((64,), 1, [(0,)]),
        ((0, 4), 4, []),
    ],
)
def test_lines(
    extents: tuple[int, ...], element_bytes: int, expected: list[tuple[int, ...]]
) -> None:
    assert list(line_offsets(extents, element_bytes)) == expected
    assert line_count(extents, element_bytes) == len(expected)
