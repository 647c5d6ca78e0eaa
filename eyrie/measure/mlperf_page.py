# SPDX-License-Identifier: Apache-2.0
"""The page of `eyrie mlperf-tiny`: docs/research/mlperf_tiny.md."""

from collections.abc import Iterable, Sequence
from textwrap import fill

from eyrie.model.config import DEFAULT

HEAD = """# MLPerf Tiny

This page has the speed of the five reference models of [MLPerf Tiny](https://github.com/mlcommons/tiny) on the RTL.
`eyrie mlperf-tiny` writes this page. `models` is a folder with the five files, and `cifar10` one with CIFAR-10:

```sh long
make mlperf-tiny MODELS=models
.venv/bin/eyrie mlperf-tiny --models models --cifar10 cifar10 --rtl 50 --page docs/research/mlperf_tiny.md
```
"""


def page(summary: dict) -> str:
    """Return the page of a run that passed, from its summary."""
    parts = [HEAD, *_cycles(summary)]
    if summary["accuracy"]:
        parts += _accuracy(summary["accuracy"])
    if summary["vela_version"]:
        parts += _ethos(summary)
    return "\n".join(parts)


def _cycles(summary: dict) -> list[str]:
    models, clock = summary["models"], summary["clock_hz"]
    references = " and ".join(sorted({entry["reference"] for entry in models}))
    rows = [
        (
            entry["file"],
            f"`{entry['model']}`",
            f"{entry['macs']:,}",
            f"{entry['cycles']:,}",
            f"{100 * entry['utilisation']:.1f} %",
            f"{entry['latency_ms']:.3f} ms",
            f"{entry['dram_bytes']:,}",
            f"{entry['energy_uJ']:.2f} uJ",
        )
        for entry in models
    ]
    return [
        "## Cycles and energy\n",
        _text(
            f"The accelerator has the default configuration, with {DEFAULT.total_multipliers} multipliers and a GLB of "
            f"{DEFAULT.glb_bytes // 1024} KiB. Each model runs with {summary['inputs']} random inputs (seed "
            f"{summary['seed']}). All {summary['comparisons']:,} outputs of the RTL, the functional simulator and the "
            f"golden model equal the outputs of {references}."
        ),
        _table(
            ("benchmark", "file", "MACs", "cycles", "utilisation", "latency", "DRAM bytes", "energy"), rows, names=2
        ),
        _text("Cycles, bytes and energy are of the first input." + _on_host(models)),
        _text(
            f"Latency is the time of the cycles at {_mhz(clock)}. This clock rate is an assumption, the nominal "
            "one of the [parameters](../reference/parameters.md) if `--clock` is not given. Eyrie has no layout; "
            "[synthesis](synthesis.md) has the clock rates of single blocks in an FPGA. Energy has the prices of the "
            "[cost model](../concepts/cost.md), which do not predict the consumption of a chip."
        ),
    ]


def _on_host(models: list[dict]) -> str:
    shares = {entry["file"]: entry["host_share"] for entry in models if entry["host_share"]}
    if not shares:
        return ""
    return (
        f" The CPU computes at most {100 * max(shares.values()):.4f} % of the operations, in "
        f"{', '.join(shares)}. Its time is not counted."
    )


def _accuracy(accuracy: dict) -> list[str]:
    text = (
        f"The image classifier finds the class of {accuracy['int8_top1']:.2f} % of {accuracy['images']:,} test images "
        "of CIFAR-10 (top-1), as [portable C](../howto/c.md). Its input is the pixel less 128. MLPerf Tiny [asks "
        "for](https://mlcommons.org/en/inference-tiny-05) 85 %."
    )
    if accuracy["rtl_images"]:
        text += f" The RTL has the same outputs for the first {accuracy['rtl_images']:,} images."
    return ["## Accuracy\n", _text(text)]


def _ethos(summary: dict) -> list[str]:
    models = summary["models"]
    names = list(models[0]["vela"])
    cycles, others = [], []
    for entry in models:
        estimates = [entry["vela"][name] for name in names]
        counts = [f"{of[key]:,}" for key in ("cycles", "npu_cycles") for of in estimates]
        cycles.append((entry["file"], f"{entry['cycles']:,}", *counts))
        latencies = [f"{of['latency_ms']:.3f} ms" for of in estimates]
        others.append((entry["file"], *latencies, *(f"{of['off_chip_bytes']:,}" for of in estimates)))
    return [
        "## Estimates for Ethos-U\n",
        _text(
            f"Vela {summary['vela_version']} (`pip install ethos-u-vela`) compiles the same files for Arm's Ethos-U "
            "and estimates cycles. These numbers are estimates of a compiler, not measurements. NPU cycles leave out "
            "memory accesses."
        ),
        _table(("benchmark", "Eyrie cycles", *_heads(names, "cycles"), *_heads(names, "NPU cycles")), cycles),
        _table(("benchmark", *_heads(names, "latency"), *_heads(names, "off-chip bytes")), others),
        _text(
            "The accelerators differ in multipliers, clock rate and memory. Vela chooses the system configuration and "
            "the memory mode in its `vela.ini` if none is given:"
        ),
        _accelerators(summary["clock_hz"], models[0]["vela"]),
    ]


def _heads(names: list[str], what: str) -> list[str]:
    return [f"{name} {what}" for name in names]


def _accelerators(clock_hz: int, estimates: dict[str, dict]) -> str:
    """Return the table of the accelerators: their memories, multipliers and clock rates."""
    rows: list[tuple] = [
        ("Eyrie", "default", "", "DRAM", "GLB or DRAM", DEFAULT.total_multipliers, _mhz(clock_hz), DEFAULT.dram_bytes)
    ]
    for name, of in estimates.items():
        system, mode = f"`{of['system_config']}`", f"`{of['memory_mode']}`"
        multipliers, bandwidth = int(name.rpartition("-")[2]), f"{of['off_chip_bytes_per_cycle']:g}"
        memories = of["weights_memory"], of["feature_maps_memory"]
        rows.append((name, system, mode, *memories, multipliers, _mhz(of["clock_hz"]), bandwidth))
    heads = ("accelerator", "system configuration", "memory mode", "weights in", "feature maps in")
    return _table((*heads, "MACs a cycle", "clock", "off-chip bytes a cycle"), rows, names=5)


def _mhz(hertz: int) -> str:
    return f"{hertz / 1e6:,g} MHz"


def _text(text: str) -> str:
    return fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]], names: int = 1) -> str:
    """Return a table whose first `names` columns are texts, the others numbers."""
    lines = [heads, ["---"] * names + ["--:"] * (len(heads) - names), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"
