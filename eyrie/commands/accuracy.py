# SPDX-License-Identifier: Apache-2.0
"""Print the top-1 accuracy on the CIFAR-10 test images: of the float network, and of the int8 network on the golden
model.

    eyrie accuracy --cifar10 DIR [--images 10000] [--split train] [--rtl N [--driver]] [--model X.tflite]
                   [--float X.npz] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

With --split train the last training images are used, to compare networks before the test images decide. With --rtl the
first N images also run on the simulated RTL, and every logit is compared. With --driver the C program
runtime/c/examples/classify.c runs them through the driver. The folder build/accuracy gets summary.json and, with
--driver, the output of the program.
"""

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.frontend.file import read_model
from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Result, Task
from eyrie.model.errors import InputError
from eyrie.model.reading import check_readable
from eyrie.runtime import progress
from eyrie.runtime.bundled import FLOAT_WEIGHTS, MODEL
from eyrie.runtime.folders import BUILD, replacing

if TYPE_CHECKING:
    import numpy as np

    from eyrie.compiler.ir.graph import Graph
    from eyrie.training.float_network import MobileNetV1

MOST_IMAGES = 10_000
BATCH = 250
RTL_BATCH = 25  # images of a task
IMAGE, CLASSES = (32, 32, 3), 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    images = whole_number(1, MOST_IMAGES)
    parser.add_argument("--cifar10", type=file_name, required=True, metavar="DIR", help="folder with CIFAR-10")
    parser.add_argument("--images", type=images, default=MOST_IMAGES, metavar="N", help="number of images (10,000)")
    parser.add_argument(
        "--split", choices=("test", "train"), default="test", help="the test images, or the last training images (test)"
    )
    parser.add_argument(
        "--rtl",
        type=whole_number(0, MOST_IMAGES),
        default=0,
        metavar="N",
        help="number of images to run on the RTL too",
    )
    parser.add_argument(
        "--driver", action="store_true", help="run the images of --rtl from a C program (docs/howto/driver.md)"
    )
    parser.add_argument(
        "--model", type=file_name, default=MODEL, metavar="X.tflite", help="int8 network (the bundled one)"
    )
    parser.add_argument(
        "--float", type=file_name, default=FLOAT_WEIGHTS, metavar="X.npz", help="float weights (the bundled ones)"
    )
    engine.add_arguments(parser, 24 * 60)


def run(options: argparse.Namespace) -> int:
    if options.rtl > options.images:
        raise InputError(f"--rtl {options.rtl}: must be 0 to the number of images, {options.images}")
    if options.driver and not options.rtl:
        raise InputError("--driver runs what --rtl N says: give both")
    read_model(options.model)
    check_readable(options.float, "eyrie train makes float weights")
    from eyrie.compiler.ir.operator import quantized
    from eyrie.runtime.preprocessing import codes_of
    from eyrie.training import cifar10

    cifar10.locate(options.cifar10, options.split)
    graph, network = classifier_graph(options.model), _float_network(options.float)
    images, labels = cifar10.load(options.cifar10, options.split)
    chosen = slice(len(images) - MOST_IMAGES, len(images) - MOST_IMAGES + options.images)
    images, labels = images[chosen], labels[chosen]
    inputs = codes_of(images, quantized(graph.input).quantization)
    start = time.perf_counter()
    real = _float_logits(network, images)
    real_top1 = report("float", real, labels, time.perf_counter() - start)
    start = time.perf_counter()
    quantised = golden_logits(graph, inputs)
    int8_top1 = report("int8", quantised, labels, time.perf_counter() - start)
    same = int((real.argmax(1) == quantised.argmax(1)).sum())
    print(f"int8 is {real_top1 - int8_top1:+.2f} points below float; same class for {same} of {len(labels)} images")
    different = _compare(options, inputs, quantised, real_top1, int8_top1)
    if options.rtl:
        print(f"RTL: {different} of {quantised[: options.rtl].size} logits differ from the golden model's")
    return 1 if different else 0


def classifier_graph(model: Path) -> "Graph":
    """Raises InputError, in one line, for one that does not classify CIFAR-10's images."""
    from eyrie.compiler.frontend.file import load
    from eyrie.compiler.ir.graph import map_shape
    from eyrie.compiler.ir.tensor import Quantized
    from eyrie.model.messages import times

    graph = load(model)
    ends = map_shape(graph.input.shape), map_shape(graph.output.shape)
    if ends != (IMAGE, (1, 1, CLASSES)):
        raise InputError(
            f"{model}: makes {times(ends[1])} of {times(ends[0])}: give a network that makes "
            f"1 x 1 x {CLASSES} of CIFAR-10's {times(IMAGE)}"
        )
    if not isinstance(graph.input, Quantized):
        raise InputError(f"{model}: its input is {graph.input.dtype}: give a network with int8 or uint8 inputs")
    return graph


def _compare(
    options: argparse.Namespace, inputs: "np.ndarray", quantised: "np.ndarray", real_top1: float, int8_top1: float
) -> int:
    """Runs the first images on the RTL and writes the summary; returns how many logits differ."""
    from eyrie.runtime.simulator.summary import write_summary

    different = 0
    with replacing(BUILD / "accuracy") as folder:
        if options.rtl:
            found = _on_rtl(options, folder, inputs[: options.rtl], quantised[: options.rtl])
            different = int((found != quantised[: options.rtl]).sum())
        write_summary(
            folder / "summary.json",
            {
                "test": "accuracy",
                "status": "fail" if different else "pass",
                "images": len(inputs),
                "float_top1": round(real_top1, 2),
                "int8_top1": round(int8_top1, 2),
                "rtl_images": options.rtl,
                "comparisons": quantised[: options.rtl].size,
                "mismatches": different,
            },
        )
    return different


def _on_rtl(options: argparse.Namespace, folder: Path, inputs: "np.ndarray", golden: "np.ndarray") -> "np.ndarray":
    """Return int8 [N, 10] of int8 images [N, 32, 32, 3]; golden: the golden model's. Raise InputError if the budget
    does not last."""
    import numpy as np

    model = (options.model.name, options.model.read_bytes())
    words = ["eyrie", "accuracy", f"--cifar10={options.cifar10}", f"--images={options.images}", f"--rtl={options.rtl}"]
    words += [f"--split={options.split}", f"--model={options.model}", *(["--driver"] if options.driver else [])]
    tasks = []
    for first in range(0, len(inputs), RTL_BATCH):
        batch = slice(first, first + RTL_BATCH)
        images, logits = inputs[batch], golden[batch].tolist()
        arguments = {"model": model, "images": images.tobytes(), "golden": logits, "driver": options.driver}
        tasks.append(Task(f"images {first} to {first + len(images) - 1}", classified, arguments, shlex.join(words)))
    entries = engine.Campaign.of("accuracy", options).run(tasks, folder, lambda entry: None)
    if left := [task.name for task, entry in zip(tasks, entries) if not entry]:
        raise InputError(engine.left_line(left))
    return np.array([logits for entry in entries if entry for logits in entry["logits"]])


def classified(folder: Path, model: tuple[str, bytes], images: bytes, golden: list[list[int]], driver: bool) -> Result:
    """Run int8 images [N, 32, 32, 3] on the RTL, from Python or from the C program, whose output is classes.txt.

    Raise BuildError, and InputError with one line.
    """
    import numpy as np

    from eyrie.compiler.artefact.files import load
    from eyrie.runtime.back_ends.rtl import Rtl
    from eyrie.runtime.programs import compiled
    from eyrie.runtime.soc import c_programs

    path = folder / model[0]
    path.write_bytes(model[1])
    program = compiled(path)
    network, files = load(program), {}
    if driver:
        if not network.whole:
            raise InputError(f"{model[0]}: the host runs operators of it: leave out --driver")
        pictures = folder / "pictures.bin"
        pictures.write_bytes(images)
        executable = c_programs.link(c_programs.CLASSIFY, program, network.config, folder)
        said = c_programs.call(executable, program / "image.bin", pictures)
        logits = [[int(word) for word in line.partition("outputs ")[2].split()] for line in said.splitlines()]
        files["classes.txt"] = said.encode()
    else:
        inputs = np.frombuffer(images, np.int8).reshape(-1, 1, *IMAGE)
        logits = Rtl().run(network, [inputs]).outputs[0].reshape(len(inputs), -1).tolist()
    wrong = sum(one != other for one, other in zip(logits, golden, strict=True))
    failure = f"the logits of {wrong} of {len(golden)} images differ from the golden model's" if wrong else None
    return Result({"logits": logits}, files, failure)


def _float_network(weights: Path) -> "MobileNetV1":
    with progress.task("loading the float model"):  # PyTorch takes its time to load
        from eyrie.training.float_network import load_float

        return load_float(weights)


def _float_logits(network: "MobileNetV1", images: "np.ndarray") -> "np.ndarray":
    from eyrie.training.float_network import float_logits

    with progress.task(f"running the float model on {len(images):,} images"):
        return float_logits(network, images).numpy()


def golden_logits(graph: "Graph", inputs: "np.ndarray") -> "np.ndarray":
    """int8 [N, 10] of int8 images [N, 32, 32, 3]."""
    import numpy as np

    parts = []
    with progress.task("running the golden model", "images") as task:
        for n in range(0, len(inputs), BATCH):
            task.at(n, len(inputs))
            parts.append(graph.run_images(inputs[n : n + BATCH]))
    return np.concatenate(parts).reshape(len(inputs), -1)


def report(name: str, logits: "np.ndarray", labels: "np.ndarray", seconds: float) -> float:
    """Prints one line and returns top-1 in percent (of equal logits the first counts)."""
    right = int((logits.argmax(1) == labels).sum())
    top1 = 100 * right / len(labels)
    print(
        f"{name:5} top-1 {top1:.2f} % ({right} of {len(labels)}), {1000 * seconds / len(labels):.1f} ms per image",
        flush=True,
    )
    return top1
