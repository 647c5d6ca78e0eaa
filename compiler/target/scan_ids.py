# SPDX-License-Identifier: Apache-2.0
"""Row and column IDs of the multicast networks, and the LN word, for a mapping."""

from dataclasses import dataclass

from eyrie.model.config import SET_ROWS, AcceleratorConfig
from eyrie.model.encoding import NO_COLUMN, NO_FILTER_COLUMN
from eyrie.model.errors import InputError

IDLE = {"ifmap": NO_COLUMN, "filter": NO_FILTER_COLUMN}


@dataclass(frozen=True)
class ScanIds:
    """IDs of the array: `rows` one dict per row, `columns` one dict per PE, row by row; `link_enable`: bit i
    joins row i to row i + 1."""

    rows: list[dict[str, int]]
    columns: list[list[dict[str, int]]]
    link_enable: int


def link_enable_word(config: AcceleratorConfig, joined_sets: int) -> int:
    """LN of chains over `joined_sets` sets each."""
    cuts = range(joined_sets * SET_ROWS, config.rows, joined_sets * SET_ROWS)
    return ((1 << (config.rows - 1)) - 1) & ~sum(1 << (cut - 1) for cut in cuts)


def convolution_ids(
    config: AcceleratorConfig, e: int, r: int, t: int, kernel_rows: int, stride: int, blocks: int = 1
) -> ScanIds:
    """IDs of a row-stationary convolution: PE sets of `e` columns, r of them over channels (stacked),
    t over filters (stacked where there is room, then side by side). e larger than the array is wide:
    one set folded over several row groups. blocks: a set does so many blocks of pixels of each row side
    by side, and is e * blocks columns wide.

    ifmap column ID: the ifmap row that a PE needs, counted within the pass. Filter row ID: filter row,
    plus 3 for each pair of sets with filters of their own; filter column ID: which of the sets side by
    side. Raises InputError where the mapping does not fit.
    """
    if r > 2:
        raise InputError(f"r = {r}: at most 2 sets share the channels, each takes half of a GLB word")
    folds = -(-e // config.cols)
    width = min(e * blocks, config.cols)
    down = min(t, config.sets // r) if folds == 1 else 1
    across = t // max(down, 1)
    fits = folds * r * down <= config.sets and across * width <= config.cols and down * across == t
    if not fits or across > NO_FILTER_COLUMN:
        raise InputError(f"e = {e}, r = {r}, t = {t} does not fit {config.rows} x {config.cols} PEs")
    if folds > 1 and (r > 1 or t > 1):
        raise InputError(f"e = {e} is folded over the rows: r and t must be 1, are {r} and {t}")
    if blocks > 1 and (folds > 1 or across > 1 or e * blocks > config.cols):
        raise InputError(f"{e} x {blocks} blocks with t = {t} do not fit {config.cols} columns side by side")
    if folds > 1 and e % config.cols:
        raise InputError(f"e = {e} is folded over the rows: must be a multiple of {config.cols}")
    span = (e - 1) * stride + kernel_rows
    if (last := span * blocks - 1) >= NO_COLUMN:
        raise InputError(f"ifmap row {last} of a pass has no ID, they end at {NO_COLUMN - 1}: reduce e")
    rows, columns = [], []
    for row in range(config.rows):
        set_, set_row = divmod(row, SET_ROWS)
        pair = set_ // 2 if folds == 1 and r * down > 1 else 0
        rows.append({"ifmap": 0, "filter": pair * SET_ROWS + set_row})
        used = set_ < folds * r * down and set_row < kernel_rows
        first = set_ * config.cols if folds > 1 else 0
        columns.append(
            [
                {
                    "ifmap": col % blocks * span + (first + col % width // blocks) * stride + set_row,
                    "filter": col // width,
                }
                if used and col < across * width
                else IDLE
                for col in range(config.cols)
            ]
        )
    return ScanIds(rows, columns, link_enable_word(config, r))


def block_ids(
    config: AcceleratorConfig,
    block_rows: int,
    block_cols: int,
    stride: int | None,
    images: int = 0,
    bands: int = 1,
    shared: bool = False,
) -> ScanIds:
    """IDs of pixel blocks: column j holds output row j // block_cols, block j % block_cols; with images
    output row j % block_rows of image j // block_rows.

    stride: depthwise work, the PEs of a column need three ifmap rows of each band, and the ID is the
    first of a PE's; None: pointwise, all PEs of a column need the same pixels. Two sets share a word's
    channels; further sets rest. shared: all rows take the same filter.
    """
    columns = block_rows * block_cols * max(images, 1)
    if columns > config.cols:
        across = f"{images} images" if images else f"{block_cols} blocks"
        raise InputError(f"{block_rows} x {across} do not fit {config.cols} columns")
    span = 0 if stride is None else (block_rows - 1) * stride + SET_ROWS * bands
    if (last := span * max(images, block_cols) - 1) >= NO_COLUMN:
        raise InputError(f"ifmap row {last} of a pass has no ID, they end at {NO_COLUMN - 1}")

    def column_ids(row: int, col: int) -> dict[str, int]:
        if row >= 2 * SET_ROWS or col >= columns:
            return IDLE
        block, block_row = divmod(col, block_rows) if images else divmod(col, block_cols)[::-1]
        ifmap = col if stride is None else block * span + block_row * stride + row % SET_ROWS
        return {"ifmap": ifmap, "filter": 0}

    rows = [{"ifmap": 0, "filter": 0 if shared else row % SET_ROWS} for row in range(config.rows)]
    pes = [[column_ids(row, col) for col in range(config.cols)] for row in range(config.rows)]
    return ScanIds(rows, pes, link_enable_word(config, min(config.sets, 2)))
