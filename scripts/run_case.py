"""Runs a layer with anyone's tensors on the simulated RTL: GLB, pass controller, PE array.

CASE (.npz) is a convolution:
  ifmap       int8 [C, H, W]
  filter      int8 [M, C, R, S], R and S up to 3
  stride      1 or 2
  pad         one number, or top, bottom, left, right
  ipsum       int32 [M, E, F], where the sums start (optional, 0)
  zero_point  value of the padding, int8 (optional, 0)
  e, p, q, r, t  mapping (optional, all or none; chosen otherwise)
or a fused depthwise-separable layer; then `filter` is the depthwise one, int8 [C, 1, R, S], and
  pw_filter   int8 [M2, C]
  dw_bias, dw_multiplier, dw_shift  [C]: requantisation of the depthwise sums as in TFLite: Q31
              multiplier (0 to 2^31 - 1), shift -31 (right) to 30 (left)
  dw_zero_point, dw_min, dw_max     of the depthwise result, int8
A fused layer's mapping is always chosen; its ipsum is int32 [M2, E, F].

OUT (.npz):
  opsum   int32 [M, E, F], the sums as they leave the array, modulo 2^32:
          opsum[m,y,x] = ipsum[m,y,x] + sum over c, r, s of
                         filter[m,c,r,s] * padded[c, y * stride + r, x * stride + s];
          fused: opsum[m,y,x] = ipsum[m,y,x] + sum over c of pw_filter[m,c] * d[c,y,x], where d is
          the depthwise result, requantised: clamp(dw_zero_point + scale(sum + dw_bias)).
          All int8 values count as signed numbers; no zero point is subtracted anywhere.
  cycles  clock cycles, all passes together; a layer larger than the GLB is cut into several.

The sums are also compared with the model's; where they differ no OUT is written. Log and
summary.json are in build/run_case.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from compiler.case_file import BadCase, load, parts  # noqa: E402
from compiler.cases import Part  # noqa: E402
from tb.catalogue import Bench  # noqa: E402
from tb.common.runner import simulate  # noqa: E402
from tb.common.sources import SourceError  # noqa: E402
from tb.common.verilate import BuildError  # noqa: E402

BUILD = ROOT / "build" / "run_case"
DAY_S = 24 * 3600.0
BENCH = Bench(
    "run_case", "passes from a file", "pass_tb", "tb.pass.case_tests", "runs_cases", timeout_s=DAY_S
)


class RunError(Exception):
    """The simulation failed; the message is one line."""


def run(passes: list[Part], shape: tuple[int, int, int]) -> tuple[np.ndarray, int]:
    """Sums int32 [M, E, F] and cycles of a layer's passes. Raises RunError."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        folder = Path(name)
        arrays = {}
        for n, (case, _, _) in enumerate(passes):
            arrays |= {
                f"glb_{n}": case.glb,
                f"descriptor_{n}": np.array(case.descriptor.words, np.uint64),
            }
        np.savez(folder / "cases.npz", **arrays)
        result = simulate(BENCH, seed=1, out=folder)
        for kept in ("log.txt", "summary.json"):
            os.replace(folder / kept, BUILD / kept)
        if result["status"] != "pass":
            raise RunError(
                f"{result['reason']}; the log is {(BUILD / 'log.txt').relative_to(ROOT)}"
            )
        opsum, cycles = np.zeros(shape, np.int32), 0
        with np.load(folder / "result.npz") as found:
            for n, (case, filters, rows) in enumerate(passes):
                opsum[filters, rows] = case.gather(
                    found[f"sums_{n}"].reshape(case.places.shape[:-1])
                )
                cycles += int(found[f"cycles_{n}"])
    return opsum, cycles


def store(path: Path, **arrays: object) -> None:
    """Writes an .npz; the file appears complete or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            np.savez(file, **arrays)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", metavar="CASE.npz")
    parser.add_argument("out", metavar="OUT.npz", type=Path)
    options = parser.parse_args()
    try:
        if not options.out.parent.is_dir() or options.out.is_dir():
            raise BadCase(f"{options.out}: cannot be written; name a file in an existing folder")
        case = load(options.case)
        passes = parts(case)
        if case.fused and case.mapping:
            print(
                "run_case: the mapping of a fused case is fixed; e, p, q, r, t are not used",
                file=sys.stderr,
            )
        print(f"{len(passes)} pass(es) on the RTL ...", flush=True)
        opsum, cycles = run(passes, case.shape)
        store(options.out, opsum=opsum, cycles=np.int64(cycles))
    except (BadCase, RunError, BuildError, SourceError, OSError) as error:
        print(f"run_case: {error}", file=sys.stderr)
        return 1
    print(f"{options.out}: opsum int32 {list(opsum.shape)}, {cycles} cycles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
