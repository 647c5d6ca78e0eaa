# SPDX-License-Identifier: Apache-2.0
"""Double buffering on the nine accelerators and six networks of the dissertation: sections 5.3.1 and 5.3.2."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from statistics import mean

from eyrie.compiler.buffers import description
from eyrie.compiler.buffers.doubling import Doubling, Doublings, nests_of
from eyrie.compiler.buffers.nests import Nest
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.buffer_tree import BufferTree, Work
from eyrie.measure.networks.classics import CLASSICS
from eyrie.measure.studies.curves import Curves
from eyrie.measure.studies.section import Row, Table, compared
from eyrie.runtime.folders import ROOT

FOLDER = ROOT / "data" / "configurations" / "dlir"
MACHINES = {
    "ACC-C-S": "32, 16; 16 x 1 x 1",
    "ACC-C-M": "128, 128; 8 x 1 x 1",
    "ACC-C": "768, 64; 32 x 1 x 1",
    "ACC-X": "8, 8, 32; 16 x 1 x 1",
    "ACC-X-M": "64, 64, 128; 8 x 1 x 1",
    "ACC-X-L": "32, 32, 768; 32 x 1 x 1",
    "ACC-S-S": "8, 8, 32; 1 x 16 x 16",
    "ACC-S": "64, 64, 128; 1 x 8 x 8",
    "ACC-S-L": "32, 32, 768; 1 x 32 x 32",
}  # KB of each buffer; C x H x W: as table 5.3 prints them
ORIGINAL = {"ACC-C": 6.56, "ACC-X": 3.29, "ACC-S": 1.27}  # percent, section 5.3.2.3
LARGER = (("ACC-C-S", "ACC-C"), ("ACC-X", "ACC-X-L"), ("ACC-S-S", "ACC-S-L"))  # 256 multipliers, 1,024
LATENCIES = range(0, 401, 50)  # ns, cycles at 1 GHz: nine, as in section 5.3.2.2
BANDWIDTHS = (8, 16, 32, 64, 128, 256)  # GB/s, bytes a cycle at 1 GHz
DENSE: dict[str, tuple[int, ...]] = {"fc1": (1, 1, 4096, 9216), "fc2": (1, 1, 4096, 4096), "fc3": (1, 1, 1000, 4096)}
CONVOLUTIONS: dict[str, tuple[int, ...]] = {
    "conv1": (27, 27, 256, 96),
    "conv2": (112, 112, 128, 64),
}  # rows, columns, filters, channels
LAYERS = DENSE | CONVOLUTIONS
ASSEMBLY = (100, 128)  # ns, GB/s: table 4.5
GPU_FLOPS = 4.29e12  # a second, of a K40 at its peak, section 5.3.1.1
CLOCK_HZ = 1e9  # section 3.7.1
Networks = dict[str, list[Nest]]


def machine(name: str) -> BufferTree:
    """Return an accelerator of table 5.3."""
    return description.load(FOLDER / f"{name}.buffers")


def multipliers(name: str) -> int:
    """Return the multipliers of an accelerator of table 5.3."""
    return prod(machine(name).unit(Work.CONVOLUTION).sizes)


def networks() -> Networks:
    """Return the loop nests of the six networks of section 5.3.1.3, by name."""
    return {name: nests_of(tflite.from_bytes(make())) for name, make in CLASSICS.items() if name != "lstm"}


def with_transfers(tree: BufferTree, latency: int, width: int) -> BufferTree:
    """Return an accelerator with other transfers. latency: cycles; width: bytes a cycle"""
    return replace(tree, memories=tuple(replace(each, latency=latency, width=width) for each in tree.memories))


@dataclass(frozen=True)
class Grid:
    """Results of networks on accelerators. found: by accelerator and network"""

    found: dict[str, dict[str, Doubling]]

    def gains(self, name: str) -> list[float]:
        """Return the gain in percent of each network on an accelerator."""
        return [each.gain for each in self.found[name].values()]

    def cycles(self, name: str) -> list[int]:
        return [each.best for each in self.found[name].values()]

    def speed_up(self, small: str, large: str) -> float:
        """Return the mean speed-up from one accelerator to another."""
        return mean(before / after for before, after in zip(self.cycles(small), self.cycles(large), strict=True))


def tables(known: Networks) -> tuple[Table, ...]:
    """Return the tables of sections 5.3.1 and 5.3.2. known: of `networks`"""
    doublings = Doublings()
    trees = {name: machine(name) for name in MACHINES}
    grid = Grid(
        {name: {each: doublings.of(nests, tree) for each, nests in known.items()} for name, tree in trees.items()}
    )
    return _machines(trees, grid), _scaling(grid), _gains(grid, known), _sweeps(trees, known)


def _machines(trees: dict[str, BufferTree], grid: Grid) -> Table:
    rows = []
    for name, printed in MACHINES.items():
        tree = trees[name]
        unit = tree.unit(Work.CONVOLUTION)
        kilobytes = ", ".join(str(memory.bytes // 1024) for memory in tree.memories)
        ours = f"{kilobytes}; {unit.filters} x {unit.rows} x {unit.columns}"
        rows.append(compared(f"{name}: KB of each buffer; C x H x W", printed, ours))
    for name in MACHINES:
        percent = ", ".join(f"{gain:.2f} %" for gain in grid.gains(name))
        cycles = ", ".join(f"{count:,}" for count in grid.cycles(name))
        rows.append(Row(f"{name}: cycles of the networks; gain of double buffering", "picture", f"{cycles}; {percent}"))
    text = """`data/configurations/dlir/` describes these accelerators. Each buffer has the 250 GB/s and 100 ns of table
5.2, at the 1 GHz of section 3.7.1. Values have 8 bits here; the text does not state its width. AlexNet is without LRN.
The networks are LeNet-5, CIFAR-10 quick, AlexNet, VGG-16, VGG-19 and ResNet-34. Figures 5.9 to 5.13 are pictures."""
    return Table("Nine accelerators, table 5.3", text, tuple(rows))


def _scaling(grid: Grid) -> Table:
    steps = {pair: grid.speed_up(*pair) for pair in LARGER}
    said = ", ".join(f"{small} to {large} {times:.2f} x" for (small, large), times in steps.items())
    least = min(steps, key=lambda pair: steps[pair])
    order = (("ACC-C-M", "ACC-C-S", "ACC-C"), ("ACC-X-M", "ACC-X", "ACC-X-L"), ("ACC-S", "ACC-S-S", "ACC-S-L"))
    steps_up = [
        before > after
        for names in order
        for small, large in pairwise(names)
        for before, after in zip(grid.cycles(small), grid.cycles(large), strict=True)
    ]
    shares = [each.bound / each.best for name in ORIGINAL for each in grid.found[name].values()]
    rows = (
        Row(
            "more multipliers, in the order of C x H x W",
            "all three accelerators are faster with more resources",
            f"faster in {sum(steps_up)} of {len(steps_up)} steps; {said}",
            "the networks that are not faster are small" if not all(steps_up) else "",
            all(steps_up),
        ),
        Row(
            "speed-up of the systolic array, from 256 to 1,024 multipliers",
            "ACC-S-L is clearly below ACC-C and ACC-X",
            said,
            "" if least[1] == "ACC-S-L" else "another one is the least",
            least[1] == "ACC-S-L",
        ),
        Row(
            "double buffering relative to the longer of computing and transfers of each operator (greedy tiles)",
            "70.8 % to 97 % (figure 5.13), 97.7 % in section 5.4",
            f"{100 * min(shares):.1f} % to {100 * max(shares):.1f} %",
            "original sizes; the text's programs by hand have tiles of their own",
        ),
    )
    sizes = Curves(
        "multipliers",
        "Speed-up by multipliers, mean of the six networks",
        "multipliers",
        "times as fast as the smallest",
        {
            original: [(multipliers(name), grid.speed_up(names[0], name)) for name in names]
            for original, names in zip(ORIGINAL, order, strict=True)
        },
        doubling=True,
    )
    return Table("Other sizes, sections 5.3.2.2 and 5.3.2.3", "Means of the six networks.", rows, (sizes,))


def _gains(grid: Grid, known: Networks) -> Table:
    means = {name: mean(grid.gains(name)) for name in ORIGINAL}
    rows = [
        Row(
            f"{name}, 8-bit values, without LRN: faster by, mean of six networks",
            f"{printed:.2f} %",
            f"{means[name]:.2f} %; {', '.join(f'{gain:.2f}' for gain in grid.gains(name))}",
            f"{mean(grid.gains(name)[:3]):.2f} % for the first three",
        )
        for name, printed in ORIGINAL.items()
    ]
    ranked = " > ".join(sorted(means, key=lambda name: -means[name]))
    rows.append(
        compared(
            "order of the three",
            "ACC-C > ACC-X > ACC-S",
            ranked,
            "ACC-X has the smallest buffers, so it has the most transfers to hide",
        )
    )
    tree = with_transfers(machine("ACC-C"), *ASSEMBLY)
    overlap = [Doublings().of(known[network], tree) for network in ("alexnet", "vgg16")]
    rows.append(
        Row(
            "section 4.6.2, against instructions without overlap, here ACC-C with table 4.5's 128 GB/s and 100 ns",
            "AlexNet 1.16 x, VGG-16 1.09 x (mean of ten layers 1.20 x)",
            ", ".join(f"{found.single / found.best:.2f} x" for found in overlap),
            "here without LRN; the text also fuses layers, which is 2 %",
        )
    )
    macs = {name: sum(_macs(nest) for nest in nests) for name, nests in known.items()}
    times = {
        name: mean(
            2 * macs[network] / GPU_FLOPS / (found.best / CLOCK_HZ) for network, found in grid.found[name].items()
        )
        for name in ORIGINAL
    }
    rows.append(
        Row(
            "speed relative to a GPU; here a K40 at its peak of 4.29 Tflop/s, which no program reaches",
            "ACC-C 3.09 x (3.19 x in its paper) of a K40, ACC-X 5.1 x (4.9 x), ACC-S 25.2 x (28.9 x) of a K20",
            ", ".join(f"{name} {value:.2f} x" for name, value in times.items()),
            "the text's GPU runs Caffe, other networks for ACC-X and ACC-S",
        )
    )
    text = """Operator by operator, the faster of one place and of two places for each operand: `eyrie buffers
--double-buffering`. Networks in the order of the previous table."""
    return Table("Double buffering, section 5.3.2.3", text, tuple(rows))


def _macs(nest: Nest) -> int:
    rows, columns, filters, channels = nest.sizes
    return rows * columns * filters * channels * nest.window.taps if nest.work is Work.CONVOLUTION else 0


class Sweep:
    """Results of single layers on the original accelerators, by latency and by bandwidth."""

    def __init__(self, trees: dict[str, BufferTree], known: Networks) -> None:
        nests = [nest for name in ("alexnet", "vgg16") for nest in known[name] if nest.work is Work.CONVOLUTION]
        layers = {name: next(nest for nest in nests if nest.sizes == sizes) for name, sizes in LAYERS.items()}
        shrunk = tuple(
            replace(memory, bytes=other.bytes)
            for memory, other in zip(trees["ACC-S"].memories, trees["ACC-X"].memories, strict=True)
        )
        self._trees = {name: trees[name] for name in ORIGINAL} | {"shrunk": replace(trees["ACC-S"], memories=shrunk)}
        self._doublings, self._nests = Doublings(), layers

    def latencies(self, name: str, layer: str) -> list[Doubling]:
        """Return the results at 0 to 400 ns and 250 GB/s."""
        return [self._at(name, layer, latency, 250) for latency in LATENCIES]

    def bandwidths(self, name: str, layer: str) -> list[Doubling]:
        """Return the results at 8 to 256 GB/s and 100 ns."""
        return [self._at(name, layer, 100, width) for width in BANDWIDTHS]

    def _at(self, name: str, layer: str, latency: int, width: int) -> Doubling:
        return self._doublings.of([self._nests[layer]], with_transfers(self._trees[name], latency, width))


def _sweeps(trees: dict[str, BufferTree], known: Networks) -> Table:
    sweep = Sweep(trees, known)
    text = f"""The five layers that the text names: fc1 to fc3, conv1, conv2. Latencies {LATENCIES[0]} to
{LATENCIES[-1]} ns in steps of {LATENCIES.step} at 250 GB/s; bandwidths {", ".join(map(str, BANDWIDTHS))} GB/s at
100 ns. Percentages compare double buffering of the layer with single buffering, also if it is slower."""
    return Table(
        "Latency and bandwidth, sections 5.3.2.2 and 5.3.2.3",
        text,
        (
            _sensitivity("latency: cycles at 400 ns / at 0 ns", sweep.latencies, (-1, 0)),
            _sensitivity("bandwidth: cycles at 8 GB/s / at 256 GB/s", sweep.bandwidths, (0, -1)),
            _convolutions(sweep),
            *(_dense(sweep, name) for name in ("ACC-C", "ACC-X")),
            _short_latencies(sweep),
            _same_buffers(sweep),
            _turning(sweep),
        ),
        (
            _gain_curves("latency", "ns", LATENCIES, sweep.latencies),
            _gain_curves("bandwidth", "GB/s", BANDWIDTHS, sweep.bandwidths, doubling=True),
        ),
    )


def _gain_curves(
    name: str, unit: str, xs: Iterable[int], results: Callable[[str, str], list[Doubling]], doubling: bool = False
) -> Curves:
    return Curves(
        name,
        f"Gain of double buffering by {name}",
        f"{name}, {unit}",
        "gain, percent",
        {
            f"{original}, {layer}": [(x, found.change) for x, found in zip(xs, results(original, layer), strict=True)]
            for original in ORIGINAL
            for layer in ("fc1", "conv1")
        },
        doubling=doubling,
    )


def _sensitivity(what: str, results: Callable[[str, str], list[Doubling]], ends: tuple[int, int]) -> Row:
    slow, fast = ends
    times = {
        name: {layer: (found := results(name, layer))[slow].single / found[fast].single for layer in LAYERS}
        for name in ORIGINAL
    }
    agree = [
        min(found[layer] for layer in DENSE) > max(found[layer] for layer in CONVOLUTIONS) for found in times.values()
    ]
    ours = "; ".join(f"{name} {_numbers(found.values())}" for name, found in times.items())
    return Row(
        f"{what}: fc1, fc2, fc3, conv1, conv2",
        "fully connected layers gain more from less latency and more bandwidth than convolutions",
        ours,
        ""
        if all(agree)
        else f"so on {', '.join(name for name, yes in zip(times, agree) if yes)} only: the others "
        "have few long transfers, or wait for their multipliers",
        all(agree),
    )


def _convolutions(sweep: Sweep) -> Row:
    changes = [
        found.change
        for name in ORIGINAL
        for layer in CONVOLUTIONS
        for found in (*sweep.latencies(name, layer), *sweep.bandwidths(name, layer))
    ]
    gain = [change for change in changes if change > 0]
    return Row(
        "double buffering of conv1, conv2",
        "all accelerators gain",
        f"gain at {len(gain)} of {len(changes)} points: {min(changes):.2f} % to {max(changes):.2f} %",
        "" if len(gain) == len(changes) else "not at the other points",
        len(gain) == len(changes),
    )


def _dense(sweep: Sweep, name: str) -> Row:
    changes = {layer: [found.change for found in sweep.latencies(name, layer)] for layer in DENSE}
    falls = all(before > after for found in changes.values() for before, after in pairwise(found))
    loses = all(found[-1] < 0 for found in changes.values())
    return Row(
        f"fully connected layers on {name}, 0 to 400 ns: fc1",
        "slower by latency, more so as latency grows",
        f"{_numbers(changes['fc1'])} %",
        "" if falls and loses else "the gain falls, but stays positive: its transfers are long beside the latency",
        falls and loses,
    )


def _short_latencies(sweep: Sweep) -> Row:
    changes = [found.change for found in sweep.latencies("ACC-S", "fc1")]
    agrees = all((change > 0) == (latency <= 100) for latency, change in zip(LATENCIES, changes, strict=True))
    return Row(
        "fully connected layers on ACC-S, 0 to 400 ns: fc1",
        "faster below 100 ns, slower above",
        f"{_numbers(changes)} %",
        "" if agrees else "64 multipliers take longer than the transfers at every latency",
        agrees,
    )


def _same_buffers(sweep: Sweep) -> Row:
    changes = {name: [found.change for found in sweep.latencies(name, "fc1")] for name in ("shrunk", "ACC-X")}
    agrees = all((one > 0) == (other > 0) for one, other in zip(*changes.values(), strict=True))
    return Row(
        "ACC-S with the buffers of ACC-X: fc1",
        "behaves like ACC-X",
        f"{_numbers(changes['shrunk'])} %; ACC-X {_numbers(changes['ACC-X'])} %",
        "" if agrees else "64 multipliers still take longer than most transfers",
        agrees,
    )


def _turning(sweep: Sweep) -> Row:
    changes = [found.change for found in sweep.bandwidths("ACC-C", "conv1")]
    best = BANDWIDTHS[changes.index(max(changes))]
    return Row(
        "double buffering of conv1 on ACC-C, 8 to 256 GB/s",
        "less gain at higher bandwidth; 16 GB/s is the turning point",
        f"{_numbers(changes)} %; the turning point is {best} GB/s",
        "" if best == 16 else "falls from the lowest bandwidth on",
        best == 16 and changes[-1] < max(changes),
    )


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
