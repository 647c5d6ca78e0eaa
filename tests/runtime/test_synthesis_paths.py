# SPDX-License-Identifier: Apache-2.0
"""The walk over a mapped netlist: hand-made ones whose longest paths are known."""

import json
from pathlib import Path

import pytest

from eyrie.runtime.synthesis.library import own_gates
from eyrie.runtime.synthesis.netlist import read
from eyrie.runtime.synthesis.paths import between, longest
from tests.runtime.netlists import chain, gate, instance, module

RECORDED = Path(__file__).with_name("counter4.json")  # 4 lines of SystemVerilog, as yosys 0.70 mapped them
PORTS = {"clk_i": "input", "a_i": "input", "b_i": "input", "y_o": "output", "z_o": "output"}


def inner(gates: int) -> dict:
    """y = register of a; z = b after so many inverters, or b itself."""
    cells = {"q": gate("$_DFF_P_", 10, 2, 3)}
    if gates:
        cells |= chain(4, gates, 5, 20)
    return module(
        {"clk_i": [2], "a_i": [3], "b_i": [4]}, {"y_o": [10], "z_o": [5 if gates else 4]}, cells, {"held_q": [10]}
    )


def outer() -> dict:
    """Register of the first instance -> 2 inverters -> through the second (b to z) -> 3 inverters -> its register."""
    cells = {
        "u_first": instance("one", PORTS, clk_i=[2], a_i=[3], b_i=["0"], y_o=[6], z_o=[7]),
        "u_second": instance("two", PORTS, clk_i=[2], a_i=[12], b_i=[8], y_o=[13], z_o=[9]),
        **chain(6, 2, 8, 30),
        **chain(9, 3, 12, 40),
    }
    return module({"clk_i": [2], "d_i": [3]}, {"q_o": [13]}, cells, {"between": [8]})


@pytest.mark.parametrize("gates", [0, 1, 4])
def test_a_path_through_instances(gates: int) -> None:
    netlists = read({"top": outer(), "one": inner(1), "two": inner(gates)}, own_gates(), {})
    path = longest(netlists, "top")
    assert (path.cells, path.start, path.end) == (5 + gates, "u_first.held_q", "u_second.held_q")
    apart = (("", 2, "between"), ("u_second", gates, "z_o"), ("", 3, ""))
    assert path.through == (apart if gates else (("", 5, "between"),))


def test_ports_and_constants() -> None:
    """From an input to an output; what hangs on constants only is no path."""
    cells = {**chain(3, 2, 4, 20), "c": gate("$_AND_", 5, "0", "1"), **chain(5, 9, 6, 30)}
    netlists = read({"top": module({"x_i": [3]}, {"y_o": [4], "k_o": [6]}, cells)}, own_gates(), {})
    path = longest(netlists, "top")
    assert (path.cells, path.start, path.end) == (2, "input x_i", "output y_o")


def test_nothing_passes_a_gate() -> None:
    netlists = read({"top": module({"x_i": [3]}, {"y_o": [3]}, {})}, own_gates(), {})
    assert longest(netlists, "top") is None


def test_a_memory_ends_a_path_and_begins_one() -> None:
    ram = module({"clk_i": [2], "row_i": [3, 4]}, {"data_o": [5]}, {})
    cells = {
        "u_ram": instance(
            "ram", {"clk_i": "input", "row_i": "input", "data_o": "output"}, clk_i=[2], row_i=[7, 8], data_o=[9]
        ),
        **chain(6, 3, 7, 20),
        **chain(9, 2, 10, 30),
    }
    top = module({"clk_i": [2], "x_i": [6], "w_i": [8]}, {"y_o": [10]}, cells)
    netlists = read({"top": top, "ram": ram}, own_gates(), {"ram": 4096})
    assert "ram" not in netlists
    found = {(path.cells, path.start, path.end) for path in between(netlists, "top")}
    assert found == {(3, "input x_i", "u_ram.row_i[0]")}
    assert longest(netlists, "top").end == "u_ram.row_i[0]"


def test_pairs_of_blocks() -> None:
    """One path for each pair of blocks that a path leads between; instances that differ in an index are one."""
    cells = {
        "gen[0].u_a": instance("one", PORTS, clk_i=[2], a_i=[3], b_i=["0"], y_o=[6], z_o=[7]),
        "gen[1].u_a": instance("one", PORTS, clk_i=[2], a_i=[3], b_i=["0"], y_o=[16], z_o=[17]),
        "u_b": instance("one", PORTS, clk_i=[2], a_i=[12], b_i=["0"], y_o=[13], z_o=[18]),
        **chain(6, 2, 8, 30),
        **chain(16, 4, 9, 40),
        "join": gate("$_AND_", 12, 8, 9),
    }
    netlists = read({"top": module({"clk_i": [2], "d_i": [3]}, {"q_o": [13]}, cells), "one": inner(1)}, own_gates(), {})
    found = [(path.cells, path.start, path.end) for path in between(netlists, "top")]
    assert found == [(5, "gen[1].u_a.held_q", "u_b.held_q")]


def test_a_loop_is_rejected() -> None:
    cells = {"a": gate("$_AND_", 4, 3, 5), "b": gate("$_NOT_", 5, 4)}
    netlists = read({"top": module({"x_i": [3]}, {"y_o": [5]}, cells)}, own_gates(), {})
    with pytest.raises(ValueError, match="^a combinational loop in or after the top$"):
        longest(netlists, "top")


def test_what_yosys_writes() -> None:
    """A counter of 4 bits, `count_q <= count_q + en_i`, and an output that is 1 at 15."""
    netlist = read(json.loads(RECORDED.read_text())["modules"], own_gates(), {})["counter4"]
    path = longest({"counter4": netlist}, "counter4")
    assert netlist.cells == {"$_AND_": 5, "$_NAND_": 1, "$_XNOR_": 1, "$_XOR_": 3, "$_DFF_PN0_": 4}
    assert (path.cells, path.start, path.end) == (4, "input en_i", "count_q[3]")
