# SPDX-License-Identifier: Apache-2.0
"""What a pass works through: blocks of output pixels, tiles of filters."""

from dataclasses import dataclass

from eyrie.model.config import GLB_WORD_BYTES


@dataclass(frozen=True)
class Blocks:
    """The output pixels of a pass.

    rows x cols  columns of the array: output rows, blocks of pixels in a row
    pixels       F, pixels of a block
    down, along  outer blocks: number of row blocks, of column blocks
    inner        neighbouring blocks done in turn within a filter tile: side by side, or, with `below`, row blocks of
                 whole rows
    first_row    first output row of the pass
    flat         pixels of maps as one row (FeatureMap.flat)
    images       0: one image; else n, rows x images being columns of the array: so many images have all the
                 pixels of `rows` rows in flight side by side, and `inner` counts such runs of images
    """

    rows: int
    cols: int
    pixels: int
    down: int = 1
    along: int = 1
    inner: int = 1
    first_row: int = 0
    images: int = 0
    below: bool = False
    flat: bool = False

    @property
    def columns(self) -> int:
        """Columns of the array that take part."""
        return self.rows * self.cols * max(self.images, 1)

    @property
    def width(self) -> int:
        """Output columns in flight."""
        return self.cols * self.pixels

    @property
    def outer_width(self) -> int:
        """Output columns of an outer block."""
        return self.width * (1 if self.below else self.inner)

    @property
    def outer_rows(self) -> int:
        """Output rows of an outer block."""
        return self.rows * (self.inner if self.below else 1)

    @property
    def outer(self) -> int:
        return self.down * self.along


@dataclass(frozen=True)
class Filters:
    """Filter tiles of a pass, and where their words and tables begin in the GLB.

    ring: (end address, words) where the filters pass through a ring; chunk_groups: channel groups
    (GLB words per filter) of a chunk, None for no chunks.
    """

    count: int  # filters of a tile, with padding
    tiles: int
    address: int
    table_address: int
    ring: tuple[int, int] | None = None
    chunk_groups: int | None = None
    last_channels: int = 8  # valid channels of the last block

    @property
    def blocks(self) -> int:
        """Blocks of filters of a tile, whose sums make GLB words; the last of a single tile may be shorter."""
        return -(-self.count // GLB_WORD_BYTES)
