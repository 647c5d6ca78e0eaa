# SPDX-License-Identifier: Apache-2.0
"""Run one layer with your own tensors on the simulated RTL: GLB, pass controller, PE array.

    eyrie layer LAYER.npz OUT.npz [--config FILE]

LAYER (.npz) is a convolution:
  ifmap       int8 [C, H, W]
  filter      int8 [M, C, R, S], R and S up to 3
  stride      1 or 2
  pad         one number, or top, bottom, left, right
  ipsum       int32 [M, E, F], start values of the sums (optional, 0)
  zero_point  value of the padding, int8 (optional, 0)
  e, p, q, r, t  mapping (optional, all or none; chosen otherwise)
or a fused depthwise-separable layer; then `filter` has the depthwise filters, int8 [C, 1, R, S], and
  pw_filter   int8 [M2, C]
  dw_bias, dw_multiplier, dw_shift  [C]: requantisation of the depthwise sums as in TFLite: Q31
              multiplier (0 to 2^31 - 1), shift -31 (right) to 30 (left)
  dw_zero_point, dw_min, dw_max     of the depthwise result, int8
A fused layer's mapping is always chosen; its ipsum is int32 [M2, E, F].

OUT (.npz):
  opsum   int32 [M, E, F], the sums as they leave the array, modulo 2^32:
          opsum[m,y,x] = ipsum[m,y,x] + sum over c, r, s of
                         filter[m,c,r,s] * padded[c, y * stride + r, x * stride + s];
          fused: opsum[m,y,x] = ipsum[m,y,x] + sum over c of pw_filter[m,c] * d[c,y,x]; d is
          the depthwise result, requantised: clamp(dw_zero_point + scale(sum + dw_bias)).
          All int8 values are signed numbers; no zero point is subtracted.
  cycles  clock cycles, all passes together; a layer larger than the GLB is split into several passes.

The sums are compared with the model's; if they differ, no OUT is written. Log and summary.json
are in build/layer.
"""

import argparse
import sys

import numpy as np

from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_file, whole_file
from eyrie.compiler.single_layer.file import load, parts
from eyrie.compiler.single_layer.layer_run import LayerPass
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about, array, number_of
from eyrie.runtime.folders import BUILD, checkout, replacing
from eyrie.runtime.simulator.simulate import simulate_in
from eyrie.runtime.simulator.simulation_test import SimulationTest

TARGET = BUILD / "layer"
BENCH = SimulationTest(
    "layer", "passes from a file", "pass_tb", "tb.pass.case_tests", "runs_cases", cycles=10**12, config=DEFAULT
)


class CaseFailed(InputError):
    """The simulation failed; the message is one line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("layer", type=file_name, metavar="LAYER.npz", help="tensors and parameters of the layer")
    parser.add_argument("out", type=file_name, metavar="OUT.npz", help="file to write: opsum and cycles")
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")


def run(options: argparse.Namespace) -> None:
    checkout("the testbenches, of which one runs the layer,")
    check_file(options.out)
    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    case = load(options.layer, config)
    with about(options.layer):
        passes = parts(case, config)
    if case.fused and case.mapping:
        print("the mapping of a fused layer is fixed: e, p, q, r, t are not used", file=sys.stderr)
    opsum, cycles = on_rtl(passes, case.shape, config)
    with whole_file(options.out) as file:
        np.savez(file, opsum=opsum, cycles=np.int64(cycles))
    print(f"{options.out}: opsum {array(opsum)}, {cycles} cycles, {number_of(len(passes), 'pass')}")


def on_rtl(
    passes: list[LayerPass], shape: tuple[int, int, int], config: AcceleratorConfig = DEFAULT
) -> tuple[np.ndarray, int]:
    """Sums int32 [M, E, F] and cycles of a layer's passes. Raises CaseFailed."""
    with replacing(TARGET, keep=CaseFailed) as folder:
        arrays = dict[str, np.ndarray]()
        for n, (case, _, _) in enumerate(passes):
            arrays |= {
                f"glb_{n}": case.glb,
                f"descriptor_{n}": np.array(case.descriptor.words, np.uint64),
            }
        np.savez(folder / "cases.npz", allow_pickle=False, **arrays)
        result = simulate_in(folder, BENCH.on(config), seed=1)
        if result["status"] != "pass":
            raise CaseFailed(f"{result['reason']}: see {TARGET / 'log.txt'}")
        opsum, cycles = np.zeros(shape, np.int32), 0
        with np.load(folder / "result.npz") as found:
            for n, (case, filters, rows) in enumerate(passes):
                opsum[filters, rows] = case.gather(found[f"sums_{n}"].reshape(case.places.shape[:-1]))
                cycles += int(found[f"cycles_{n}"])
    return opsum, cycles
