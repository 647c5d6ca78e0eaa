# SPDX-License-Identifier: Apache-2.0
"""The blocks of chunks, at whose end the same weights may be a rest (model/weight_codes.py has the format)."""

from collections.abc import Sequence

import numpy as np

from eyrie.model.encoding import CODE_LANES
from eyrie.model.weight_codes import BLOCK_STEPS

BLOCK = BLOCK_STEPS * CODE_LANES  # weights


def blocks_of(chunks: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of chunks, padded to whole blocks, and where they are no padding: [blocks, steps, lanes]."""
    weights = np.concatenate([np.pad(chunk, (0, -chunk.size % BLOCK)) for chunk in chunks])
    active = np.concatenate([np.arange(chunk.size + -chunk.size % BLOCK) < chunk.size for chunk in chunks])
    shape = (-1, BLOCK_STEPS, CODE_LANES)
    return weights.reshape(shape), active.reshape(shape)


def rests_in(same: np.ndarray, active: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which weights of blocks are in rests of at least so many weights, and which are the last of one.

    same: the weights that a rest may have; active: no padding
    """
    others = np.cumsum((active & ~same)[:, ::-1], axis=1)[:, ::-1]  # from each weight on
    rest = active & (others == 0)
    rest &= rest.sum(axis=1, keepdims=True) >= least
    return rest, rest & ~np.pad(active[:, 1:], ((0, 0), (0, 1), (0, 0)))
