# SPDX-License-Identifier: Apache-2.0
"""Run the reference models of MLPerf Tiny on the RTL: cycles, latency, DRAM bytes and energy.

    eyrie mlperf-tiny --models DIR [--clock MHZ] [--vela PROGRAM] [--inputs N] [--seed N] [--page FILE]
                      [--cifar10 DIR [--images N] [--rtl N]] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

Each of the five models is compiled for the default configuration and runs on the RTL with random inputs. Every output
is compared with TensorFlow Lite's reference kernels. If Vela is installed, Arm's compiler for Ethos-U, its estimates
stand beside the measured cycles. With --cifar10 the image classifier also runs the test images of CIFAR-10 as portable
C, and the first N of them on the RTL. The command prints a table and leaves summary.json (docs/reference/summary.md)
and the log of each model in build/mlperf-tiny. --page writes the table as a page of the documentation. The exit code is
1 if a model is wrong, rejected or failed.
"""

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.options import MOST_SEED
from eyrie.measure.campaigns import engine
from eyrie.measure.trials import INPUTS, NOT_OK, ON_RTL, Trial, head, row, summarised
from eyrie.model.errors import InputError

if TYPE_CHECKING:
    import numpy as np

IMAGE_CLASSIFICATION = "image classification"
# The files of each benchmark: names in the repository mlcommons/tiny first, then names in collections of models.
BENCHMARKS = {
    "anomaly detection": ("ad01_int8.tflite", "mlp_ad01.tflite"),
    IMAGE_CLASSIFICATION: ("pretrainedResnet_quant.tflite", "mlp_resnet8.tflite"),
    "keyword spotting": ("kws_ref_model.tflite", "mlp_kws_dscnn.tflite"),
    "streaming wake word": ("str_ww_ref_model.tflite", "strm_ww_int8.tflite", "mlp_strww.tflite"),
    "visual wake words": ("vww_96_int8.tflite", "mlp_vww96.tflite"),
}
COLUMNS = (
    ("cycles", 9, "cycles", "{:,}"),
    ("utilisation", 11, "utilisation", "{:.1%}"),
    ("latency", 9, "latency_ms", "{:.3f} ms"),
    ("DRAM bytes", 10, "dram_bytes", "{:,}"),
    ("energy", 9, "energy_uJ", "{:.2f} uJ"),
)
MAX_IMAGES = 10_000
BATCH = 250  # images between two steps of the progress display


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(" or ".join(files) for files in BENCHMARKS.values())
    parser.add_argument("--models", type=file_name, required=True, metavar="DIR", help=f"folder with {names}")
    parser.add_argument(
        "--clock",
        type=whole_number(1, 10_000),
        metavar="MHZ",
        help="clock rate for latency and energy (the nominal one of the configuration, an assumption)",
    )
    parser.add_argument("--vela", metavar="PROGRAM", help="Vela of the package ethos-u-vela (vela, if it is installed)")
    parser.add_argument(
        "--inputs", type=whole_number(1), default=INPUTS, metavar="N", help=f"random inputs for each model ({INPUTS})"
    )
    parser.add_argument("--seed", type=whole_number(0, MOST_SEED), default=1, help="seed of the inputs (1)")
    parser.add_argument("--page", type=file_name, metavar="FILE", help="file for the table as a page")
    parser.add_argument("--cifar10", type=file_name, metavar="DIR", help="folder with CIFAR-10")
    images = whole_number(1, MAX_IMAGES)
    parser.add_argument("--images", type=images, metavar="N", help="number of test images (10,000)")
    parser.add_argument("--rtl", type=images, metavar="N", help="number of test images to run on the RTL too")
    engine.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from eyrie.measure import vela
    from eyrie.measure.mlperf_page import page
    from eyrie.model.config import DEFAULT
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.simulator.summary import write_summary

    models, began = models_of(options.models), time.monotonic()
    clock_hz = 1_000_000 * options.clock if options.clock else DEFAULT.clock_hz
    _check_images(options, models[IMAGE_CLASSIFICATION])
    program = vela.located(options.vela)
    version = program and vela.version_of(program)
    columns = (*COLUMNS, *((name, 13, name, "{:,}") for name in vela.ACCELERATORS if program))
    width = max(map(len, models))
    print(head("benchmark", width, columns))
    with replacing(BUILD / "mlperf-tiny") as folder:
        estimates = {name: _estimates(program, model, folder / "vela") for name, model in models.items()}
        tasks = []
        for name, path in models.items():
            model, config = (path.name, path.read_bytes()), {"clock_hz": clock_hz}
            trial = Trial(name, model, config, ON_RTL, options.inputs, options.seed, failing=NOT_OK)
            words = ["eyrie", "zoo", str(path), f"--rtl-macs={ON_RTL}", f"--inputs={options.inputs}"]
            tasks.append(trial.task(shlex.join([*words, f"--seed={options.seed}"])))
        entries: list[dict] = []

        def tell(entry: dict) -> None:
            name = entry["file"]
            entries.append(_completed(entry, models[name], clock_hz) | {"vela": estimates[name]})
            cycles = {accelerator: estimate["cycles"] for accelerator, estimate in estimates[name].items()}
            print(row(entries[-1] | cycles, width, columns), flush=True)

        engine.Campaign.of("mlperf-tiny", options).run(tasks, folder, tell)
        summary = summarised("mlperf-tiny", entries, time.monotonic() - began)
        summary |= {"seed": options.seed, "clock_hz": clock_hz, "inputs": options.inputs, "vela_version": version}
        summary["accuracy"] = _accuracy(options, models[IMAGE_CLASSIFICATION]) if options.cifar10 else None
        if (
            len(entries) < len(tasks)
            or any(entry["status"] != "ok" for entry in entries)
            or (summary["accuracy"] or {}).get("mismatches")
        ):
            summary["status"] = "fail"
        write_summary(folder / "summary.json", summary)
    print(_last_line(summary, program))
    if options.page and summary["status"] == "pass":
        options.page.write_text(page(summary))
        print(options.page)
    return 0 if summary["status"] == "pass" else 1


def models_of(folder: Path) -> dict[str, Path]:
    """Return the file of each benchmark in a folder or below it. Raise InputError, in one line, if one is missing."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no folder: give one with the models of MLPerf Tiny")
    files = {path.name: path for path in sorted(folder.rglob("*.tflite"), reverse=True)}  # the first of equal names
    found = {name: next((files[file] for file in names if file in files), None) for name, names in BENCHMARKS.items()}
    if missing := [f"{name} ({' or '.join(BENCHMARKS[name])})" for name, path in found.items() if not path]:
        raise InputError(f"{folder}: has no model for {', '.join(missing)}: copy the missing files there")
    return {name: path for name, path in found.items() if path}


def _check_images(options: argparse.Namespace, classifier: Path) -> None:
    """Raise InputError, in one line, if the test images or their classifier cannot be used."""
    if not options.cifar10:
        if options.images or options.rtl:
            raise InputError("--images and --rtl count images of CIFAR-10: give --cifar10 DIR too")
        return
    from eyrie.commands.accuracy import classifier_graph
    from eyrie.training import cifar10

    images = options.images or MAX_IMAGES
    if options.rtl and options.rtl > images:
        raise InputError(f"--rtl {options.rtl}: must be at most the number of images, {images}")
    cifar10.locate(options.cifar10, "test")
    classifier_graph(classifier)


def _completed(entry: dict, model: Path, clock_hz: int) -> dict:
    """Return the entry of a model with its latency and utilisation."""
    cycles, macs = entry["cycles"], entry["macs"]
    return entry | {
        "model": model.name,
        "latency_ms": cycles and round(1000 * cycles / clock_hz, 4),
        "utilisation": cycles and round(macs / (cycles * entry["multipliers"]), 4),
    }


def _estimates(program: str | None, model: Path, folder: Path) -> dict[str, dict]:
    """Return Vela's estimates for a model by accelerator; empty without Vela."""
    from eyrie.measure import vela
    from eyrie.runtime import progress

    if not program:
        return {}
    with progress.task(f"estimating {model.name}"):
        return {each: vela.estimated(program, model, each, folder / model.stem / each) for each in vela.ACCELERATORS}


def _accuracy(options: argparse.Namespace, model: Path) -> dict:
    """Return the accuracy of the image classifier as portable C, and how many outputs differ on the RTL."""
    from eyrie.commands.accuracy import report
    from eyrie.training import cifar10

    images, labels = cifar10.load(options.cifar10, "test")
    inputs, labels = cifar10.preprocess(images[: options.images]), labels[: options.images]
    began = time.perf_counter()
    outputs = _outputs(model, "c", inputs)
    top1 = report("int8", outputs, labels, time.perf_counter() - began)
    different, compared = 0, outputs[: options.rtl or 0]
    if options.rtl:
        different = int((_outputs(model, "rtl", inputs[: options.rtl]) != compared).sum())
        print(f"RTL: {different} of {compared.size} outputs differ from the portable C")
    return {
        "images": len(labels),
        "int8_top1": round(top1, 2),
        "rtl_images": options.rtl or 0,
        "comparisons": compared.size,
        "mismatches": different,
    }


def _outputs(model: Path, back_end: str, inputs: "np.ndarray") -> "np.ndarray":
    """int8 [N, 10] of int8 images [N, 32, 32, 3]."""
    import numpy as np

    import eyrie
    from eyrie.runtime import progress

    session, found = eyrie.load(model, back_end=back_end), []
    with progress.task(f"running {model.name} on {len(inputs):,} images", "images") as task:
        for n in range(0, len(inputs), BATCH):
            task.at(n, len(inputs))
            [output] = session.run([inputs[n : n + BATCH, None]])
            found.append(output.reshape(len(output), -1))
    return np.concatenate(found)


def _last_line(summary: dict, program: str | None) -> str:
    entries = summary["models"]
    right = sum(entry["status"] == "ok" for entry in entries)
    ours = f"{summary['status']}: {right} of {len(entries)} models, {summary['clock_hz'] / 1e6:g} MHz"
    if not program:
        return f"{ours}; Vela is not installed: no estimates for Ethos-U"
    return f"{ours}; Ethos-U: cycles that Vela {summary['vela_version']} estimates"
