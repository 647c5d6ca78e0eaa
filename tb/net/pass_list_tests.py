# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of lists of passes on the whole accelerator; bench.py lists them."""

import cocotb
import numpy as np

from eyrie.compiler.cost.predict import timed
from eyrie.compiler.cost.traffic import COUNTERS
from eyrie.model.encoding import ErrorCode
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.testing.pass_layers import why_not
from eyrie.testing.samples import scaled
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.bench import CYCLE_LIMIT, DRAM_BYTES
from tb.net.cost_tests import CYCLES, SHARE
from tb.net.host import Host, Result
from tb.net.pass_lists import PassList, draw_list


@cocotb.test()
async def runs_lists(dut) -> None:
    """Passes of the bench's kinds, one overlapping the next: the GLB is the model's, each ofmap the operator's; with
    the argument `timed` the cost model knows when each pass is done."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("lists")
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    kinds = [kind for kind in tb.arguments["kinds"] if why_not(kind, tb.config) is None]
    shares = []
    for number in range(scaled(tb.arguments["lists"])):
        program = draw_list(tb.rng, tb.config, kinds, tb.arguments["passes"])
        result = await host.run(program.contents, program.start, CYCLE_LIMIT)
        about = f"list {number}"
        dut._log.info("%s: %d passes, %d cycles", about, len(program.passes), result.counters["CYCLES"])
        scoreboard.compare(ErrorCode.NONE, result.error, f"{about}: error code")
        scoreboard.compare(len(program.passes), len(result.passes), f"{about}: passes")
        memory = np.zeros(DRAM_BYTES, np.uint8)
        memory[: len(program.contents)] = program.contents
        simulator = FunctionalSimulator(memory, tb.config)
        simulator.run(program.start)
        glb = program.glb(host.memory)
        scoreboard.compare(program.glb(simulator.dram).tolist(), glb.tolist(), f"{about}: GLB")
        for n, drawn in enumerate(program.passes):
            scoreboard.compare(
                drawn.layer.ofmap.tolist(), drawn.result(glb).tolist(), f"{about}, pass {n}: {drawn.about}"
            )
        if tb.arguments["timed"]:
            shares += _compare_cycles(tb, scoreboard, program, result, about)
    await tb.finish(scoreboard, **({"worst_share_of_bound": round(max(shares), 3)} if shares else {}))


def _compare_cycles(
    tb: Testbench, scoreboard: Scoreboard, program: PassList, result: Result, about: str
) -> list[float]:
    """Bytes and MACs, which are exact; cycles from the end of one pass to that of the next."""
    timing = timed(tb.config, program.commands)
    counters, times = timing.counters, timing.passes
    for name in (*COUNTERS, "MACS"):
        if name not in ("COMMAND_BYTES", "DRAM_READ_BYTES"):
            scoreboard.compare(result.counters[name], counters[name], f"{about}: {name}")
    ends, predicted = (
        [0, *found] for found in ([end["CYCLES"] for end in result.passes], [passed.done - 1 for passed in times])
    )
    shares = []
    for n, drawn in enumerate(program.passes):
        measured, expected = ends[n + 1] - ends[n], predicted[n + 1] - predicted[n]
        allowed = max(SHARE * measured, CYCLES)
        shares.append(abs(expected - measured) / allowed)
        line = f"{about}, pass {n}: {drawn.about}: {expected} cycles predicted, {measured} measured"
        tb.dut._log.info(line)
        scoreboard.compare(True, shares[-1] <= 1, f"{line}, {allowed:.0f} allowed")
    return shares
