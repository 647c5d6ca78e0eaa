# SPDX-License-Identifier: Apache-2.0
"""Square tiles of an input: both tables of the text, and what it says of its figures 9, 10 and 12."""

import csv
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from eyrie.compiler.study.tiles import SAVING, accesses, legal_tiles, optimal_tile, untiled_accesses
from eyrie.measure.studies.curves import Curves
from eyrie.measure.studies.section import Row, Section, Table, compared
from eyrie.runtime.folders import ROOT

SOURCE = """S. Seidi, M. E. Salehi Nasab, memory access modelling based on effective tiling in convolutional neural
network accelerators, Journal of Iranian Association of Electrical and Electronics Engineers 22 (2), 2025, doi
10.61186/jiaeee.22.2.160. Accesses are input elements read from DRAM; the formulas are `compiler/study/tiles.py`."""
LEGAL = {
    (256, 12, 7): "12, 40, 54, 250",
    (128, 9, 1): "9, 10, 11, 12, 13, 14, 16, 18, 20, 23, 28, 32, 38, 48, 68, 128",
    (128, 9, 2): "9, 11, 13, 15, 17, 19, 27, 31, 37, 47, 67, 127",
    (128, 12, 4): "12, 16, 20, 28, 32, 48, 68, 128",
    (128, 29, 1): "29, 30, 32, 33, 38, 48, 53, 78, 128",
    (256, 29, 1): "29, 30, 31, 32, 34, 40, 47, 66, 85, 104, 142, 256",
    (49, 3, 2): "3, 5, 7, 9, 13, 17, 25, 49",
    (62, 3, 1): "3, 4, 5, 6, 7, 8, 12, 14, 22, 32",
}  # as table 1 prints them, by input, kernel and stride
SAVED = {
    1: "55",
    2: "86.7",
    4: "51.1",
    6: "85.3",
    8: "48.4",
    10: "86.7",
    12: "52.2",
    14: "82.1",
    24: "44.9",
    26: "37",
}  # percent, by layer, as table 2 prints them
TIMES = 4  # as large as the kernel
WIDEST, KERNEL = 200, 20  # of figure 12 (a)
STRIDES = (1, 2, 4)
INPUTS = range(KERNEL + 1, WIDEST)
CURVES = ((60, 5, 1), (128, 9, 1), (128, 9, 2), (128, 12, 4))  # input, kernel, stride


def section(folder: Path) -> Section:
    """folder: not used."""
    return Section("Tiles", SOURCE, (_optimal_tiles(), _mobilenet(), _metrics()))


def _optimal_tiles() -> Table:
    rows = []
    for row in _published("tile_table1.csv"):
        shape = int(row["input"]), int(row["kernel"]), int(row["stride"])
        name = "input {}, kernel {}, stride {}".format(*shape)
        rows.append(compared(f"{name}: optimal tile", row["optimal_tile"], str(optimal_tile(*shape))))
        legal = ", ".join(map(str, legal_tiles(*shape)))
        rows.append(
            compared(
                f"{name}: legal tiles",
                LEGAL[shape],
                legal,
                "equation 7 gives more tiles than the text lists; the optimal one is the same",
            )
        )
    return Table(
        "Table 1: optimal tiles", "The smallest tile after which the next larger one saves less than 10 %.", tuple(rows)
    )


def _mobilenet() -> Table:
    rows, found = [], []
    for row in _published("tile_table2.csv"):
        shape, factor = (int(row["input"]), int(row["kernel"]), int(row["stride"])), int(row["channels_factor"])
        tile = optimal_tile(*shape)
        plain, tiled = untiled_accesses(*shape, factor), accesses(*shape, tile, factor)
        rows += [
            compared(f"layer {row['layer']}: optimal tile", row["optimal_tile"], str(tile)),
            compared(
                f"layer {row['layer']}: accesses, no tiles",
                row["untiled_accesses"],
                _like(plain, row["untiled_accesses"]),
            ),
            compared(
                f"layer {row['layer']}: accesses, tiles", row["tiled_accesses"], _like(tiled, row["tiled_accesses"])
            ),
        ]
        saved, printed = 100 * (1 - tiled / plain), SAVED[int(row["layer"])]
        rows.append(
            compared(
                f"layer {row['layer']}: less",
                f"{printed} %",
                f"{_digits(saved, printed)} %",
                "follows from the two counts, which are as printed",
            )
        )
        found.append(saved)
    rows.append(
        compared(
            "all layers with tiles: less",
            "40 % to 87 %",
            f"{_digits(min(found), '')} % to {_digits(max(found), '')} %",
            "the minimum in the table is layer 26, with 37 %",
        )
    )
    text = """MobileNet at 224 x 224, a row for each shape. Layers 16 to 22 equal layer 14. The other layers are 1x1.
Their windows do not overlap, so tiles save no accesses, as the text says."""
    return Table("Table 2: MobileNet", text, tuple(rows))


def _metrics() -> Table:
    falls = _monotone(60, 5, 1)
    shapes = [shape for shape in LEGAL if _monotone(*shape)]
    by_stride = [_mean_tile_accesses(60, 12, stride) for stride in range(1, 13)]
    rising = [stride for stride, (before, after) in enumerate(pairwise(by_stride), 1) if after > before]
    return Table(
        "Figures 9, 10 and 12",
        "The figures are pictures; the text describes them.",
        (
            Row(
                "figure 9 (a), input 60, kernel 5, stride 1: accesses as tiles grow",
                "fall, then level off",
                f"{'fall' if falls else 'do not always fall'}: {_levels(60, 5, 1)}",
                agrees=falls,
            ),
            Row(
                "figure 9 (b) to (d), whose sizes are in the picture; here the shapes of table 1",
                "fall, then level off",
                f"fall for {len(shapes)} of {len(LEGAL)} shapes",
                "" if len(shapes) == len(LEGAL) else "not for the others",
                len(shapes) == len(LEGAL),
            ),
            Row(
                "figure 10: accesses as the stride grows to the kernel (input 60, kernel 12)",
                "fall, at last to the size of the input",
                f"{float(by_stride[0]):,.0f} at stride 1, {float(by_stride[-1]):,.0f} at stride 12; "
                "the input has 3,600",
                "the text names no sizes; its tile is the mean of the optimal ones"
                + "".join(f"; they rise from stride {stride} to {stride + 1}" for stride in rising),
                not rising and by_stride[0] > by_stride[-1] == 3600,
            ),
            *_below_kernels(),
        ),
        (
            Curves(
                "tiles",
                "Figure 9: accesses as tiles grow",
                "tile",
                "accesses, relative to the largest tile",
                {"input {}, kernel {}, stride {}".format(*shape): _relative(*shape) for shape in CURVES},
            ),
            Curves(
                "strides",
                "Figure 10: accesses as the stride grows to the kernel",
                "stride",
                "accesses",
                {"input 60, kernel 12": [(stride, float(count)) for stride, count in enumerate(by_stride, 1)]},
            ),
            Curves(
                "optimal",
                f"Figure 12: optimal tile, kernel {KERNEL}, stride 1",
                "input",
                "tile",
                {
                    "tile smaller than the input": [(size, optimal_tile(size, KERNEL, 1)) for size in INPUTS],
                    "or the input itself": [(size, _optimal_or_whole(size, KERNEL, 1)) for size in INPUTS],
                    f"{TIMES} kernels": [(size, TIMES * KERNEL) for size in INPUTS],
                },
                joined=False,
            ),
        ),
    )


def _below_kernels() -> tuple[Row, ...]:
    found = {
        stride: [
            f"{100 * sum(tile(size, KERNEL, stride) < TIMES * KERNEL for size in INPUTS) / len(INPUTS):.1f} %"
            for tile in (optimal_tile, _optimal_or_whole)
        ]
        for stride in STRIDES
    }
    said = "; ".join(f"stride {stride}: {part} or {whole}" for stride, (part, whole) in found.items())
    part, whole = found[1]
    why = (
        f"{part} if the tile is smaller than the input, as layer 26 of table 2 requires, {whole} if the input itself "
        "may be the tile; the text does not say which inputs it counts"
    )
    name = f"optimal tiles below {TIMES} kernels"
    return (
        Row(
            f"figure 12 (a), {len(INPUTS)} inputs, {KERNEL + 1} to {WIDEST - 1}, kernel {KERNEL}, stride 1: {name}",
            "71 %",
            f"{part} or {whole}",
            why,
            "71.0 %" in (part, whole),
        ),
        Row(f"conclusion, for the same inputs: {name}", "more than 70 % of cases", f"{part} or {whole}", why),
        Row(
            f"figure 12 (b), (c), whose sizes are in the picture; here figure 12 (a) at other strides: {name}",
            "78 %, 73 %",
            said,
            "the text does not name kernel and stride of (b) and (c)",
        ),
    )


def _published(name: str) -> list[dict[str, str]]:
    with (ROOT / "data" / "reference" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def _like(value: Fraction, printed: str) -> str:
    """In the notation of a printed number: plain, or with as many digits."""
    return (
        f"{float(value):.{len(printed.split('e')[0]) - 1}g}".replace("e+0", "e")
        if "e" in printed
        else (f"{round(value)}")
    )


def _digits(value: Fraction, printed: str) -> str:
    """With as many decimals as a printed number has."""
    return f"{float(value):.{len(printed.partition('.')[2])}f}"


def _monotone(*shape: int) -> bool:
    """Return whether accesses fall with each larger tile. shape: input, kernel, stride"""
    size, kernel, stride = shape
    tiles = legal_tiles(size, kernel, stride)
    return all(
        accesses(size, kernel, stride, small) > accesses(size, kernel, stride, large)
        for small, large in pairwise(tiles)
    )


def _relative(size: int, kernel: int, stride: int) -> list[tuple[int, float]]:
    """Return accesses by tile, divided by the accesses of the largest tile."""
    found = [(tile, accesses(size, kernel, stride, tile)) for tile in legal_tiles(size, kernel, stride)]
    return [(tile, float(count / found[-1][1])) for tile, count in found]


def _levels(size: int, kernel: int, stride: int) -> str:
    found = [(tile, float(accesses(size, kernel, stride, tile))) for tile in legal_tiles(size, kernel, stride)]
    return ", ".join(f"{count:,.0f} ({tile})" for tile, count in found)


def _optimal_or_whole(size: int, kernel: int, stride: int) -> int:
    """The optimal tile, the input itself being one."""
    tiles = legal_tiles(size, kernel, stride)
    counts = [accesses(size, kernel, stride, tile) for tile in tiles]
    kept = (tile for tile, (count, following) in zip(tiles, pairwise(counts)) if count - following < SAVING * count)
    return next(kept, tiles[-1])


def _mean_tile_accesses(size: int, kernel: int, stride: int) -> Fraction:
    """With the mean of the optimal tiles of all strides; where it is none of this stride, with the next smaller one."""
    tiles = [optimal_tile(size, kernel, each) for each in range(1, kernel + 1)]
    mean = sum(tiles) // len(tiles)
    return accesses(size, kernel, stride, max(range(kernel, mean + 1, stride)))
