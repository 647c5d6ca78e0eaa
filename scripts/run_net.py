"""Runs a compiled network on the simulated RTL, or on the command-level model.

    python scripts/run_net.py DIR --input X.npy --output Y.npy [--golden] [--seed N]

DIR: what `python -m compiler MODEL -o DIR` wrote. X: int8 [N, H, W, C] or one image [H, W, C]; Y: the raw
int8 output of each image. A run on the RTL also leaves build/run_net/summary.json.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from compiler.image import Image  # noqa: E402
from model.machine import Machine  # noqa: E402


def read_input(path: str, image: Image) -> np.ndarray:
    """int8 [N, H, W, C]. Raises ValueError in one line."""
    try:
        values = np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{path}: not a readable .npy file ({error})") from error
    shape = tuple(image.map["input"]["shape"])
    if values.ndim == 3:
        values = values[None]
    if values.dtype != np.int8 or values.shape[1:] != shape or not len(values):
        raise ValueError(f"{path}: {values.dtype} {values.shape}: the network takes int8 (N, {', '.join(map(str, shape))})")
    return values


def on_model(image: Image, inputs: np.ndarray) -> np.ndarray:
    """The command-level model's outputs, int8 [N, H, W, C]."""
    outputs = []
    for values in inputs:
        machine = Machine(image.with_input(values))
        machine.run(image.program)
        outputs.append(image.output(machine.dram))
    return np.stack(outputs)


def on_rtl(directory: str, inputs: np.ndarray, seed: int = 1, echo: bool = False) -> tuple[np.ndarray, list[dict]]:
    """The RTL's outputs and, for each image, its counters and the trace of its passes.

    Raises ValueError if the simulation failed.
    """
    from tb.common.runner import simulate
    from tb.net.bench import network

    out = ROOT / "build" / "run_net"
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "input.npy", inputs)
    requests = {"EYRIE_NET": str(Path(directory).resolve()), "EYRIE_INPUT": str(out / "input.npy"),
                "EYRIE_OUTPUT": str(out / "output.npy")}
    os.environ.update(requests)
    bench = network("run_net", "a compiled network on given inputs", "runs_requests")
    summary = simulate(bench, seed, out=out, echo=echo)
    if summary["status"] != "pass":
        raise ValueError(f"the simulation failed ({summary.get('reason')}): see {out / 'log.txt'}")
    return np.load(out / "output.npy"), json.loads((out / "output.json").read_text())


def save(path: str, values: np.ndarray) -> None:
    """Writes a .npy file, never half of it."""
    part = Path(f"{path}.part")
    with part.open("wb") as file:
        np.save(file, values)
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs a compiled network on the simulated RTL.")
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--input", required=True, metavar="X.npy")
    parser.add_argument("--output", required=True, metavar="Y.npy")
    parser.add_argument("--golden", action="store_true", help="on the command-level model instead")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    image = Image.load(args.directory)
    inputs = read_input(args.input, image)
    outputs = on_model(image, inputs) if args.golden else on_rtl(args.directory, inputs, args.seed)[0]
    save(args.output, outputs)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as failure:
        sys.exit(f"run_net: {failure}")
