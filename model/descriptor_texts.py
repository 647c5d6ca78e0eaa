# SPDX-License-Identifier: Apache-2.0
"""Texts of the fields of a pass descriptor for docs/reference/descriptor.md, by the names of `Word` and `Field`.

A test checks that every field of `encoding.CONFIG_FORMATS` has a text.
"""

_ADD_MULTIPLIER = "Multiplier of the operand. Its factor is multiplier / 2^(31 + right_shift)."
_PADS = "GLB words, modulo 2^16."

WORDS: dict[str, str] = {
    "ArrayShape": "Mode and shape of the work of the PEs.",
    "ArrayLoops": "Counts of the four loops of a pass. Outermost first: outer, tiles, inner, groups.",
    "DepthwiseOutput": "Output of the depthwise layer of a fused or depthwise pass.",
    "Drain": "Order in which finished psums leave the array, and the chains that add them.",
    "PpuConfig": "Requantisation and pooling in the PPU.",
    "PpuFirst": "First operand (A) of the elementwise operation.",
    "PpuSecond": "Second operand (B) of the elementwise operation.",
    "PpuResult": "Elementwise operation and its result.",
    "Window": "Word of the parameters stream: one per window for SUM. It is not part of the descriptor.",
    "RowId": "Scan-chain IDs of a row of PEs: one byte per row, eight rows per word.",
    "ColumnId": "Scan-chain IDs of a PE: one byte per PE, row by row, eight PEs per word.",
    "StreamAddress": "Addresses of a stream. An access goes to GLB word row_address + offset, modulo 2^16.",
    "StreamRange": "Position and range of a stream. Position (y, x) is inside if 0 <= y < rows and 0 <= x < cols.",
    "StreamOptions": "Options of a stream.",
    "StreamLevel": "One loop of an address generator. A stream has 12; level 0 is the innermost.",
    "Tag": "Multicast tag of a transfer. PEs whose IDs match accept it. It is not part of the descriptor.",
}

# By the names of the enumerations and of their members.
VALUES: dict[str, dict[str, str]] = {
    "ArrayMode": {
        "CONVOLUTION": "Filters stay in the PEs, ifmap rows stream.",
        "POINTWISE": "Pixels stay in the PEs, filters stream. The pixels come from the GLB.",
        "FUSED": "Depthwise, then pointwise on the depthwise results.",
        "DEPTHWISE": "Depthwise alone. Its words leave through the column adder chains.",
        "ELEMENTWISE": "Vector pass: the array is not used, ifmap words go to the PPU.",
    },
    "DrainMode": {
        "CONVOLUTION": "All rows of a set are added.",
        "POINTWISE": "Filters are assigned round-robin to the rows.",
        "WORDS": "Depthwise words of the SUPER PEs.",
        "NONE": "Vector pass: no psums.",
    },
    "PoolMode": {
        "NONE": "No pooling.",
        "AVERAGE": "Average of all pixels of an image that the pass holds.",
        "MAX": "2 x 2 maximum, stride 2. Columns 2j and 2j + 1 are rows, pixels 2i and 2i + 1 are columns.",
    },
    "Operation": {
        "NONE": "The word is not changed.",
        "ADD": "First operand + second operand.",
        "SUB": "First operand - second operand.",
        "MUL": "First operand x second operand.",
        "MAXIMUM": "Larger of both operands, or maximum of a window of the first operand.",
        "MINIMUM": "Smaller of both operands, or minimum of a window of the first operand.",
        "TABLE": "Lookup in a table of 256 entries, which the residual stream brings.",
        "SUM": "Sum of a window of the first operand.",
        "SQUARED_DIFFERENCE": "Square of first operand - second operand.",
        "PRELU": "First operand; if it is negative, first operand * second operand.",
    },
    "Destination": {
        "ROWS": "Ifmap rows, to the ifmap queues of the PEs.",
        "PIXELS": "Pointwise pixels, to the pixel queues of the PEs.",
        "PPU": "First operand of a vector pass.",
    },
    "Axis": {
        "NONE": "Adds stride to the offset.",
        "ROW": "Adds step to y, and stride to the row address, within the circular buffer.",
        "COLUMN": "Adds step to x, and stride to the offset.",
    },
}

FIELDS: dict[str, dict[str, str]] = {
    "ArrayShape": {
        "mode": "`ArrayMode`.",
        "taps": "Taps of a filter row (S).",
        "stride_2": "Horizontal stride is 2.",
        "ifmap_offset": "Ifmap words are read as q ^ 0x80: unsigned.",
        "word_offset": "Depthwise words are read as q ^ 0x80: unsigned.",
        "pixels": "Pixels that a PE holds at once (F).",
        "filters_0": "Filters of set row 0 (p).",
        "filters_1": "Filters of set row 1 (p).",
        "filters_2": "Filters of set row 2 (p).",
        "rotation": "Pointwise: rows by which the round-robin assignment moves on from tile to tile.",
        "filter_zero_point": "Subtracted from filters of psums.",
        "depthwise_zero_point": "Subtracted from depthwise filters.",
    },
    "ArrayLoops": {
        "groups": "Channel groups.",
        "inner": "Inner blocks: blocks of pixels that use the same filters.",
        "tiles": "Filter tiles.",
        "outer": "Outer blocks.",
        "bands": "Bands of three rows of a depthwise kernel; 0: no depthwise work.",
    },
    "DepthwiseOutput": {
        "zero_point": "Zero point of the depthwise output.",
        "act_min": "Lower clamp.",
        "act_max": "Upper clamp.",
    },
    "Drain": {
        "mode": "`DrainMode`.",
        "block": "Filters per block of at most 8 output channels; for depthwise words, sets.",
        "blocks": "Blocks per filter tile; for depthwise words, channel groups.",
        "last_block": "Filters of the last block of a tile.",
        "set_filters": "Filters per set (p), if a block spans several sets.",
        "chains": "Number of column adder chains.",
        "chain_sets": "Sets per chain.",
        "fold": "Chains drain one after the other: they hold different pixels, or more than 8 filters.",
        "columns": "Columns in use, from column 0.",
        "rows": "Rows of a set that take part.",
        "ipsum": "A chain starts with psums of the ipsum stream.",
        "to_ppu": "The psums go to the PPU. Otherwise they are dropped.",
        "pairs": "Pointwise filters are assigned to the rows of a set two at a time.",
        "two_pixels": "A transfer has the psums of two pixels; the last of an odd number has one.",
        "link_enable": "Link enable: bit i connects the adder chain of row i to row i + 1.",
    },
    "PpuConfig": {
        "zero_point": "Zero point of the output.",
        "act_min": "Lower clamp.",
        "act_max": "Upper clamp.",
        "raw": "Depthwise words: they bypass requantisation.",
        "pool": "`PoolMode`.",
        "pool_count": "Pixels that are averaged, at most 1,024.",
        "pool_reciprocal": "Reciprocal of pool_count is pool_reciprocal / 2^(17 + pool_shift).",
        "pool_shift": "See pool_reciprocal.",
        "pool_columns": "2^pool_columns adjacent columns have one average.",
    },
    "PpuFirst": {
        "multiplier": _ADD_MULTIPLIER,
        "right_shift": "See multiplier.",
        "zero_point": "Zero point of the operand.",
        "window": "Transfers of the first operand (a word or two) that become one result. 0: one word, one result.",
    },
    "PpuSecond": {
        "operation": "`Operation`.",
        "multiplier": _ADD_MULTIPLIER,
        "right_shift": "See multiplier.",
        "zero_point": "Zero point of the operand.",
    },
    "PpuResult": {
        "multiplier": "Multiplier of the result. Its factor is multiplier / 2^(31 - shift).",
        "shift": "See multiplier. Positive: left.",
        "zero_point": "Zero point of the result.",
        "act_min": "Lower clamp.",
        "act_max": "Upper clamp.",
    },
    "Window": {
        "multiplier": "Multiplier of the window.",
        "shift": "Shift of the window. Positive: left.",
        "bias": "Added to the sum of the window.",
    },
    "RowId": {"ifmap": "Row ID for ifmap tags.", "filter": "Row ID for filter tags."},
    "ColumnId": {
        "ifmap": "Column ID for ifmap tags. 63: the PE takes no part.",
        "filter": "Column ID for filter tags. 3: the PE takes no part.",
    },
    "StreamAddress": {
        "row_address": f"First row address. {_PADS}",
        "offset": f"First offset. {_PADS}",
        "ring_last": "Last word of the circular buffer of rows.",
        "ring_size": "Subtracted from a row address beyond ring_last. 0: no circular buffer.",
    },
    "StreamRange": {
        "y": "Row of the first position.",
        "x": "Column of the first position.",
        "rows": "Rows inside the feature map.",
        "cols": "Columns inside the feature map.",
        "tag_wrap": "Subtracted from a tag whose row and column bits, as one number, reach it. 0: not subtracted.",
    },
    "StreamOptions": {
        "enable": "The stream takes part in the pass.",
        "chunk": "Filters come in chunks, one for each iteration of loop chunk_level.",
        "chunk_level": "The loop level whose iterations are chunks.",
        "pad": "Value of positions outside of the feature map.",
        "odd_words": "Rows have an odd number of words.",
        "destination": "`Destination` of ifmap words.",
        "half_by_set": "Even sets take the low half of a word, odd sets the high half. Otherwise the tag selects it.",
        "last_strobe": "Ofmap: valid bytes of the words of the last block of the last tile.",
        "pair_level": "Two lanes: the loop level that goes along a row, two columns at a time.",
        "single": "One word a transfer, in lane 0, at any column.",
        "level_pairs": "Pairs of loop levels in use, less one.",
        "packed_pixels": "Two lanes: each takes half of one word, which has two pixels.",
        "more_bands": "Further bands of a depthwise kernel whose rows a PE takes, 3 tags apart.",
    },
    "StreamLevel": {
        "last": "Iterations, less one.",
        "stride": "Added to the row address or the offset, by axis; GLB words, modulo 2^16.",
        "step": "Added to y or x, by axis.",
        "axis": "`Axis`.",
        "tag": "Added to the tag.",
    },
    "Tag": {
        "column": "Compared with the column IDs.",
        "row": "Compared with the row IDs.",
        "half": "Which half of the 64-bit word the PE takes.",
    },
}
