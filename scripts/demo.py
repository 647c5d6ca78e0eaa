"""Classifies a photo on the simulated chip.

    python scripts/demo.py [--image photo.png]

Compiles the shipped MobileNetV1, runs it on the RTL, and prints the class, the float model's and the
golden model's answers, the counters, and a table per layer. Exit code 1 unless RTL and golden model agree.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from PIL import Image as Picture
from PIL import ImageOps

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from cifar10 import CLASSES, preprocess  # noqa: E402
from compiler.command_line import Parser  # noqa: E402
from compiler.pipeline import compile_network  # noqa: E402
from network import float_logits, load_float  # noqa: E402
from run_net import FAILURES, Progress, on_rtl  # noqa: E402
from tb.net import report  # noqa: E402

NET = ROOT / "data" / "mobilenetv1_cifar10"
PHOTO = ROOT / "data" / "photos" / "cat.png"
SIZE = (32, 32)


def read_photo(path: Path) -> np.ndarray:
    """uint8 [32, 32, 3]: the middle square of a picture, scaled. Raises ValueError in one line."""
    try:
        with warnings.catch_warnings(action="ignore"), Picture.open(path) as picture:
            return np.asarray(ImageOps.fit(picture.convert("RGB"), SIZE, Picture.Resampling.LANCZOS))
    except Exception as error:  # a damaged picture can raise nearly anything
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "damaged, or no picture"
        raise ValueError(f"{path}: cannot be read ({reason}): give a PNG or JPEG file") from error


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def answer(who: str, logits: np.ndarray) -> None:
    chances = softmax(logits)
    best = np.argsort(-chances, kind="stable")[:3]
    print(f"{who:14}" + "  ".join(f"{CLASSES[n]} {chances[n]:.3f}" for n in best))


def table(layers: list[dict]) -> None:
    print(f"\n{'layer':8} {'cycles':>8} {'use':>6} {'DRAM bytes':>11} {'GLB bytes':>10}")
    for row in layers:
        dram = row["dram_read_bytes"] + row["dram_write_bytes"]
        glb = row["glb_read_bytes"] + row["glb_write_bytes"]
        print(f"{row['name']:8} {row['cycles']:8,} {100 * row['utilisation']:5.1f}% {dram:11,} {glb:10,}")


def main() -> int:
    parser = Parser(description="Classifies a photo on the simulated chip.")
    parser.add_argument("--image", type=Path, default=PHOTO)
    args = parser.parse_args()
    photo = read_photo(args.image)
    print("compiling MobileNetV1 ...", flush=True)
    stages = compile_network(NET / "mobilenetv1_cifar10.tflite")
    folder = ROOT / "build" / "demo"
    stages.image.save(folder, stages.text)
    values = preprocess(photo[None])
    print("simulating the chip (the first time its model is built, a few minutes) ...", flush=True)
    outputs, runs = on_rtl(str(folder), values, progress=Progress(stages.image))
    golden = stages.graph.run(values)[stages.graph.output.name][0]
    match = bool((golden == outputs[0]).all())

    quantization = stages.graph.output.quantization

    def real(logits: np.ndarray) -> np.ndarray:
        return (logits.reshape(-1).astype(float) - quantization.zero_point) * quantization.scale

    print(f"\n{args.image.name} is a {CLASSES[int(outputs[0].argmax())]}\n")
    answer("chip", real(outputs[0]))
    answer("golden model", real(golden))
    network = load_float(NET / "mobilenetv1_cifar10_float.pt")
    answer("float model", float_logits(network, photo[None]).numpy()[0])

    figures = report.figures(stages.image, runs[0]["counters"], runs[0]["passes"])
    table(figures["layers"])
    print(f"\ncycles {figures['cycles']:,} (roofline {figures['roofline_cycles']:,}), "
          f"multipliers busy {100 * figures['utilisation']:.1f} %")
    print(f"DRAM {figures['dram_read_bytes'] + figures['dram_write_bytes']:,} bytes "
          f"(compulsory {figures['compulsory_dram_bytes']:,}), "
          f"GLB {figures['glb_read_bytes'] + figures['glb_write_bytes']:,} bytes, "
          f"energy {figures['energy_uJ']} uJ")
    summary = {"test": "demo", "status": "pass" if match else "fail", "seed": 1, "comparisons": golden.size,
               "mismatches": int((golden != outputs[0]).sum()), **figures,
               "class": int(outputs[0].argmax()), "golden_class": int(golden.argmax()), "match": match}
    (folder / "summary.json").write_text(json.dumps(summary, indent=1))
    print("match" if match else "MISMATCH between chip and golden model")
    return 0 if match else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FAILURES as failure:
        sys.exit(f"demo: {failure}")
