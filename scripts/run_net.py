"""Runs a compiled network on the simulated RTL, or on the command-level model.

    python scripts/run_net.py DIR --input X.npy --output Y.npy [--golden] [--seed N]

DIR: what `python -m compiler MODEL -o DIR` wrote. X: int8 [N, H, W, C] or one image [H, W, C]; Y: the raw
int8 output of each image. A run on the RTL also leaves build/run_net/summary.json.
"""

import json
import os
import re
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from compiler.command_line import Parser  # noqa: E402
from compiler.image import Image  # noqa: E402
from model.config import DEFAULT  # noqa: E402
from model.machine import Machine, MachineError  # noqa: E402
from tb.common.runner import SEED_LIMIT, simulate  # noqa: E402
from tb.common.sources import SourceError  # noqa: E402
from tb.common.verilate import BuildError  # noqa: E402
from tb.net.bench import DRAM_BYTES, PASS_DONE, network  # noqa: E402

FAILURES = (OSError, ValueError, MachineError, SourceError, BuildError)
ARRAY = ("rows", "cols", "multipliers", "bus_words", "filter_lanes")  # what tb_top has as parameters
POLL_S = 0.2


class Progress:
    """Prints which pass of which run is done: over the line before on a terminal, else line by line."""

    def __init__(self, image: Image, images: int = 1) -> None:
        self.names = {number: step["name"] for step in image.map["steps"] for number in step["passes"]}
        self.passes, self.runs = len(self.names), -(-images // image.images)
        self.terminal = sys.stdout.isatty()

    def __call__(self, run: int, passes: int) -> None:
        """Both are counts from 1."""
        line = f"pass {passes} of {self.passes} ({self.names.get(passes - 1, '?')})"
        if self.runs > 1:
            line = f"run {run} of {self.runs}, {line}"
        if self.terminal:
            last = (run, passes) == (self.runs, self.passes)
            print(f"\r{line:40}", end="\n" if last else "\r", flush=True)
        else:
            print(line, flush=True)


def read_input(path: str, image: Image) -> np.ndarray:
    """int8 [N, H, W, C]. Raises ValueError in one line."""
    try:
        values = np.load(path)
    except OSError as error:
        reason = error.strerror or "truncated or no .npy file"
        raise ValueError(f"{path}: cannot be read ({reason}): give an int8 .npy file") from error
    except Exception as error:  # NumPy parses the header as Python
        raise ValueError(f"{path}: not a readable .npy file: save an int8 array with numpy.save") from error
    if not isinstance(values, np.ndarray):
        raise ValueError(f"{path}: an .npz archive: save one int8 array with numpy.save")
    shape = tuple(image.map["input"]["shape"])
    stack = values[None] if values.ndim == 3 else values
    if stack.dtype != np.int8 or stack.shape[1:] != shape or not len(stack):
        wanted = ", ".join(map(str, shape))
        raise ValueError(f"{path}: {values.dtype} {values.shape}: the network takes int8 (N, {wanted})")
    return stack


def on_model(image: Image, inputs: np.ndarray) -> np.ndarray:
    """The command-level model's outputs, int8 [N, H, W, C]."""
    outputs = []
    for values in image.runs(inputs):
        machine = Machine(image.with_input(values), image.machine)
        machine.run(image.program)
        outputs.append(image.output(machine.dram))
    return image.results(outputs, len(inputs))


def on_rtl(directory: str, inputs: np.ndarray, seed: int = 1,
           progress: Callable[[int, int], None] | None = None) -> tuple[np.ndarray, list[dict]]:
    """The RTL's outputs and, for each run (of as many images as the network takes at once), its counters, the
    trace of its passes and the wall-clock seconds from start to interrupt.

    progress: called now and then with the run and its passes that are done, from 1. Raises
    ValueError if the simulation failed or cannot run the network, BuildError and SourceError.
    """
    out = ROOT / "build" / "run_net"
    bench = network("run_net", "a compiled network on given inputs", "runs_requests",
                    progress=progress is not None)
    bench = replace(bench, parameters=_parameters(Image.load(directory)))
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "input.npy", inputs)
    requests = {"EYRIE_NET": str(Path(directory).resolve()), "EYRIE_INPUT": str(out / "input.npy"),
                "EYRIE_OUTPUT": str(out / "output.npy")}
    os.environ.update(requests)
    with _following(out / "log.txt", progress):
        summary = simulate(bench, seed, out=out)
    if summary["status"] != "pass":
        raise ValueError(f"the simulation failed ({summary.get('reason')}): see {out / 'log.txt'}")
    return np.load(out / "output.npy"), json.loads((out / "output.json").read_text())


def _parameters(image: Image) -> dict[str, int]:
    """Of tb_top, for the machine that the network was compiled for. Raises ValueError in one line."""
    if len(image.dram) > DRAM_BYTES:
        raise ValueError(f"the network needs {len(image.dram)} bytes of DRAM, the bench has {DRAM_BYTES}")
    for name, value in image.map["machine"].items():
        if name not in (*ARRAY, "clock_hz") and value > getattr(DEFAULT, name):
            raise ValueError(f"the network was compiled for {name} = {value}, the RTL in simulation has "
                             f"{getattr(DEFAULT, name)}: compile it for that")
    sizes = {name: image.map["machine"][name] for name in ARRAY}
    return {name.upper(): value for name, value in sizes.items() if value != getattr(DEFAULT, name)}


@contextmanager
def _following(log: Path, progress: Callable[[int, int], None] | None):
    """Calls `progress` while the simulation writes its log."""
    if progress is None:
        yield
        return
    log.unlink(missing_ok=True)
    pattern = re.compile(PASS_DONE.replace("%d", r"(\d+)"))
    ended = threading.Event()

    def follow() -> None:
        last = None
        while True:
            final = ended.wait(POLL_S)
            found = pattern.findall(log.read_text(errors="replace")) if log.exists() else []
            if found and found[-1] != last:
                last = found[-1]
                progress(*map(int, last))
            if final:
                return

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def check_target(path: str) -> None:
    """Raises ValueError, in one line, unless a file can be written there."""
    target = Path(path)
    if target.is_dir() or not os.access(target.parent, os.W_OK | os.X_OK):
        raise ValueError(f"{path}: cannot be written: name a file in an existing folder")


def save(path: str, values: np.ndarray) -> None:
    """Writes a .npy file, never half of it."""
    part = Path(f"{path}.part")
    try:
        with part.open("wb") as file:
            np.save(file, values)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def main() -> None:
    parser = Parser(description="Runs a compiled network on the simulated RTL.")
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--input", required=True, metavar="X.npy")
    parser.add_argument("--output", required=True, metavar="Y.npy")
    parser.add_argument("--golden", action="store_true", help="on the command-level model instead")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not 0 <= args.seed < SEED_LIMIT:
        raise ValueError(f"--seed {args.seed}: must be 0 to {SEED_LIMIT - 1}")
    image = Image.load(args.directory)
    inputs = read_input(args.input, image)
    check_target(args.output)
    if args.golden:
        outputs = on_model(image, inputs)
    else:
        outputs, _ = on_rtl(args.directory, inputs, args.seed, Progress(image, len(inputs)))
    save(args.output, outputs)


if __name__ == "__main__":
    try:
        main()
    except FAILURES as failure:
        sys.exit(f"run_net: {failure}")
