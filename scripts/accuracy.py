"""Top-1 accuracy on the CIFAR-10 test images: the float network, and the int8 network on the golden model.

    python scripts/accuracy.py --cifar10 DIR [--images 10000] [--rtl N] [--model X.tflite] [--float X.pt]

With --rtl the first N images also run on the simulated RTL, and every logit is compared.
"""

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import cifar10  # noqa: E402
from compiler.command_line import Parser  # noqa: E402
from compiler.graph import Graph  # noqa: E402
from compiler.pipeline import compile_network  # noqa: E402
from network import float_logits, load_float  # noqa: E402
from run_net import FAILURES, Progress, on_rtl  # noqa: E402

DATA = ROOT / "data" / "mobilenetv1_cifar10"
BATCH = 250


def golden_logits(graph: Graph, inputs: np.ndarray) -> np.ndarray:
    """int8 [N, 10] of int8 images [N, 32, 32, 3]."""
    parts = [graph.run(inputs[n : n + BATCH])[graph.output.name] for n in range(0, len(inputs), BATCH)]
    return np.concatenate(parts).reshape(len(inputs), -1)


def report(name: str, logits: np.ndarray, labels: np.ndarray, seconds: float) -> float:
    """Print one line and return top-1 in percent (of equal logits the first counts)."""
    right = int((logits.argmax(1) == labels).sum())
    top1 = 100 * right / len(labels)
    print(f"{name:5} top-1 {top1:.2f} % ({right} of {len(labels)}), "
          f"{1000 * seconds / len(labels):.1f} ms per image", flush=True)
    return top1


def main() -> None:
    parser = Parser(description="Top-1 accuracy, float against int8.")
    parser.add_argument("--cifar10", type=Path, required=True, help="directory with CIFAR-10")
    parser.add_argument("--images", type=int, default=10_000, help="the first N test images")
    parser.add_argument("--rtl", type=int, default=0, help="images to run on the RTL too")
    parser.add_argument("--model", type=Path, default=DATA / "mobilenetv1_cifar10.tflite")
    parser.add_argument("--float", type=Path, default=DATA / "mobilenetv1_cifar10_float.pt")
    args = parser.parse_args()
    for path in (args.model, args.float):
        if not path.is_file():
            raise ValueError(f"{path}: no such file")
    images, labels = cifar10.load(args.cifar10, "test")
    if not 0 < args.images <= len(images):
        raise ValueError(f"--images {args.images}: must be 1 to {len(images)}")
    if not 0 <= args.rtl <= args.images:
        raise ValueError(f"--rtl {args.rtl}: must be 0 to the number of images, {args.images}")
    images, labels = images[: args.images], labels[: args.images]

    start = time.perf_counter()
    real = float_logits(load_float(args.float), images).numpy()
    real_top1 = report("float", real, labels, time.perf_counter() - start)
    start = time.perf_counter()
    stages = compile_network(args.model)
    inputs = cifar10.preprocess(images)
    quantised = golden_logits(stages.graph, inputs)
    int8_top1 = report("int8", quantised, labels, time.perf_counter() - start)
    same = int((real.argmax(1) == quantised.argmax(1)).sum())
    print(f"int8 is {real_top1 - int8_top1:+.2f} points below float; "
          f"same class for {same} of {len(labels)} images")
    if args.rtl:
        folder = ROOT / "build" / "accuracy"
        stages.image.save(folder, stages.text)
        outputs, _ = on_rtl(str(folder), inputs[: args.rtl], progress=Progress(stages.image, args.rtl))
        different = int((outputs.reshape(args.rtl, -1) != quantised[: args.rtl]).sum())
        print(f"RTL: {different} of {quantised[: args.rtl].size} logits differ from the golden model's")
        if different:
            sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except FAILURES as error:
        sys.exit(f"accuracy: {error}")
