# SPDX-License-Identifier: Apache-2.0
"""The clock rate of a block in an ECP5 by nextpnr, between registers at its inputs and outputs."""

import json
from collections.abc import Callable
from pathlib import Path

from eyrie.runtime.synthesis.design import Json
from eyrie.runtime.synthesis.jobs import NEXTPNR, Command, Job
from eyrie.runtime.synthesis.mapping import yosys

DEVICE = ("--85k", "--package", "CABGA756", "--speed", "6")
TARGET_MHZ = 100
SEED = 1
LIMIT_S = 400  # of CPU time; a block that takes longer has no clock rate

_FRAME = """module frame(input clk, input rst_n, input scan, input load, output result);
  reg [{ins}:0] in_q;
  reg [{outs}-1:0] out_q;
  reg [{outs}:0] scan_q;
  wire [{outs}-1:0] out;
  always @(posedge clk) begin
    in_q <= {{in_q, scan}};
    out_q <= out;
    scan_q <= load ? {{out_q, 1'b0}} : {{scan_q, scan}};
  end
  assign result = scan_q[{outs}];
  {block} u_block({pins});
endmodule
"""


def frame(module: Json, block: str) -> str:
    """Return Verilog of a module with a block between two shift registers, one for its inputs, one for its outputs.

    An ECP5 does not have enough pins for all ports.
    """
    pins, count = [], {"input": 0, "output": 0}
    nets = {"input": "in_q", "output": "out"}
    for port, entry in module["ports"].items():
        if port in ("clk_i", "rst_ni"):
            pins.append(f".{port}({'clk' if port == 'clk_i' else 'rst_n'})")
            continue
        direction, width = entry["direction"], len(entry["bits"])
        first = count[direction]
        pins.append(f".{port}({nets[direction]}[{first + width - 1}:{first}])")
        count[direction] += width
    return _FRAME.format(ins=count["input"], outs=count["output"], block=block, pins=", ".join(pins))


def placement(folder: Path, modules: Json, block: str, done: Callable[[float | None, str], None]) -> Job:
    """Place and route a block. `done` gets its clock rate in MHz, or None, and the reason if it is missing.

    `modules` is the whole design, with memories, because an ECP5 has memories.
    """
    name = f"ecp5_{block}"
    (folder / f"{name}.v").write_text(frame(modules[block], block))
    yield yosys(
        folder,
        name,
        [
            "read_json design.json",
            f"read_verilog {name}.v",
            "hierarchy -check -top frame",
            f"synth_ecp5 -top frame -json {name}.json",
        ],
    )
    failure = yield Command(
        NEXTPNR,
        (
            *DEVICE,
            "--json",
            f"{name}.json",
            "--freq",
            str(TARGET_MHZ),
            "--timing-allow-fail",
            "--seed",
            str(SEED),
            "--report",
            f"{name}.report.json",
        ),
        f"{name}.place.log",
        LIMIT_S,
    )
    if failure:
        done(None, failure)
        return
    report = json.loads((folder / f"{name}.report.json").read_text())
    done(round(min(clock["achieved"] for clock in report["fmax"].values()), 1), "")
