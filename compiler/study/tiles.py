# SPDX-License-Identifier: Apache-2.0
"""Square input tiles of a convolution: exact DRAM accesses, legal tiles, the optimal one.

An n x n input is read in t x t tiles by a k x k kernel of stride s; the overlap with the tile before, k - s
columns or rows, is kept. Source: the tiling paper of data/reference/README.md; its equations are named below.
"""

from fractions import Fraction
from math import floor

from eyrie.model.errors import InputError

SAVING = Fraction(1, 10)  # of the accesses: a larger tile that saves less is not worth its storage


def outputs(size: int, kernel: int, stride: int) -> Fraction:
    """Return the output pixels along one side of a square of `size` pixels, not rounded (equations 3 and 4)."""
    return Fraction(size - kernel, stride) + 1


def untiled_accesses(size: int, kernel: int, stride: int, channels_factor: int = 1) -> Fraction:
    """Return the input elements read from DRAM if every output pixel reads its whole window."""
    return outputs(size, kernel, stride) ** 2 * kernel**2 * channels_factor


def accesses(size: int, kernel: int, stride: int, tile: int, channels_factor: int = 1) -> Fraction:
    """Return the input elements read from DRAM with tiles of tile x tile pixels (equation 6).

    The first tile is read whole, of the others all but the overlap. The number of tiles along a side is not
    rounded, as published. Raise InputError for a tile smaller than the kernel.
    """
    if tile < kernel:
        raise InputError(f"a tile of {tile} pixels is smaller than the kernel, {kernel}")
    tiles = outputs(size, kernel, stride) / floor(outputs(tile, kernel, stride))
    return (tile**2 + (tiles**2 - 1) * tile * (tile - (kernel - stride))) * channels_factor


def legal_tiles(size: int, kernel: int, stride: int) -> list[int]:
    """Return the tiles without padding: whole strides, and their outputs divide the outputs of a side (equation 7)."""
    side = floor(outputs(size, kernel, stride))
    return [t for t in range(kernel, size + 1, stride) if side % ((t - kernel) // stride + 1) == 0]


def optimal_tile(size: int, kernel: int, stride: int) -> int:
    """Return the smallest legal tile after which the next saves less than a tenth of the accesses (equation 8).

    If every tile saves more, return the largest one below the input size, or the input size if no smaller tile is
    legal.

    Raise InputError if the kernel is larger than the input.
    """
    tiles = legal_tiles(size, kernel, stride)
    if not tiles:
        raise InputError(f"a kernel of {kernel} does not fit an input of {size} pixels")
    counts = [accesses(size, kernel, stride, tile) for tile in tiles]
    for tile, count, following in zip(tiles, counts, counts[1:]):
        if count - following < SAVING * count:
            return tile
    return max((tile for tile in tiles if tile < size), default=size)
