"""Transposing networks: applied to arrays they transpose, with as many shuffles as are known."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polysched.errors import LoweringError
from polysched.vector.shuffle_network import Network, run_network, transpose_network

SIZES = (1, 2, 4, 8, 16, 32, 64)
BITS = (1, 2, 4, 8, 16, 32, 64, 128)


def transposed(network: Network, tile: np.ndarray) -> np.ndarray:
    """The tile after the network."""
    columns = run_network(
        network,
        list(tile),
        join=np.concatenate,
        shuffle=lambda a, b, mask: np.concatenate([a, b])[list(mask)],
        cut=lambda vector, part, parts: vector.reshape(parts, -1)[part],
    )
    return np.array(columns)


@pytest.mark.parametrize("bits", BITS)
def test_every_size(bits: int) -> None:
    for rows, columns in product(SIZES, SIZES):
        tile = np.arange(rows * columns).reshape(rows, columns)
        network = transpose_network(rows, columns, bits)
        np.testing.assert_array_equal(transposed(network, tile), tile.T, f"{rows} x {columns}")


@pytest.mark.parametrize(
    ("rows", "columns", "bits", "shuffles"),
    [(16, 16, 32, 64), (8, 8, 64, 24), (32, 32, 16, 160), (64, 64, 8, 384), (8, 8, 32, 24)],
)
def test_shuffles_of_a_square(rows: int, columns: int, bits: int, shuffles: int) -> None:
    assert transpose_network(rows, columns, bits).shuffles == shuffles


@pytest.mark.parametrize(("rows", "columns"), [(32, 16), (64, 16), (16, 32), (16, 4)])
def test_joined_and_cut_registers_save_stages(rows: int, columns: int) -> None:
    few = min(rows, columns)
    assert transpose_network(rows, columns, 8).shuffles == few * (few.bit_length() - 1)


def test_stages_of_the_tile_of_16_by_16() -> None:
    """Unpacks of 32 and 64 bits in blocks of 128, then blocks of two registers twice."""
    firsts = [stage[0].mask for stage in transpose_network(16, 16, 32).stages]
    assert firsts == [
        (0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29),
        (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
        (0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),
        (0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),
    ]


def test_every_lane_of_every_mask_counts() -> None:
    network = transpose_network(4, 4, 32)
    tile = np.arange(16).reshape(4, 4)
    for at, stage in enumerate(network.stages):
        for number, one in enumerate(stage):
            for lane in range(4):
                mask = list(one.mask)
                mask[lane] = (mask[lane] + 1) % 8
                wrong = [*stage]
                wrong[number] = replace(one, mask=tuple(mask))
                stages = (*network.stages[:at], tuple(wrong), *network.stages[at + 1 :])
                assert (transposed(replace(network, stages=stages), tile) != tile.T).any()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((3, 4, 32), "a transposing network has 3 rows; expected a power of two"),
        ((4, 0, 32), "a transposing network has 0 columns; expected a power of two"),
        ((4, 4, 256), "a transposing network has 256 bits; expected a power of two up to 128"),
    ],
)
def test_no_network(sizes: tuple[int, int, int], message: str) -> None:
    with pytest.raises(LoweringError) as caught:
        transpose_network(*sizes)
    assert str(caught.value) == message
