# SPDX-License-Identifier: Apache-2.0
"""Waveforms: the signals to look at first, in the lists for viewers and in the picture; the moment of a failure."""

import re
from pathlib import Path

import pytest

from eyrie.model.errors import InputError
from eyrie.runtime.simulator.moments import begin_ns, cycle_at, moment, named_cycle
from eyrie.runtime.simulator.simulate import failure_lines, records_events, simulate, waveform
from eyrie.runtime.waves.files import write_lists, write_picture
from eyrie.runtime.waves.signals import Waves, between
from eyrie.testing.catalogue import find

HEADER = """$timescale 1ps $end
$scope module top $end
$var wire 1 c clk_i $end
$var wire 1 r rst_ni $end
$var wire 8 d in_data_i [7:0] $end
$var wire 1 y in_ready_o $end
$var wire 1 v in_valid_i $end
$var wire 4 n count_o [3:0] $end
$var wire 1 h hidden $end
$scope module u_one $end
$var wire 2 s state_q [1:0] $end
$upscope $end
$scope module u_two $end
$scope module u_one $end
$var wire 2 t state_q [1:0] $end
$upscope $end
$upscope $end
$upscope $end
$enddefinitions $end
"""
CYCLES = 30


@pytest.fixture(scope="module")
def waves(tmp_path_factory: pytest.TempPathFactory) -> Waves:
    """A waveform in which each cycle has its number as data, and the state is 2 from cycle 10 on."""
    lines = ["#0", "0c", "1r", "1v", "0y", "0h", "b0 d", "b101 n", "b1 s", "b0 t"]
    for cycle in range(CYCLES):
        lines += [f"#{2000 * cycle + 1000}", "1c", f"b{cycle:b} d", *(["b10 s"] if cycle == 10 else [])]
        lines += [f"#{2000 * cycle + 2000}", "0c"]
    path = tmp_path_factory.mktemp("waves") / "dump.vcd"
    path.write_text(HEADER + "\n".join(lines) + "\n")
    return Waves(path, "top")


def test_signals_to_look_at_first(waves: Waves) -> None:
    groups = {name: [signal.path for signal in signals] for name, signals in waves.groups.items()}
    assert groups == {
        "clock and reset": ["top.clk_i", "top.rst_ni"],
        "states": ["top.u_one.state_q"],
        "in": ["top.in_valid_i", "top.in_ready_o", "top.in_data_i"],
        "ports": ["top.count_o"],
    }


def test_values_between_two_times(waves: Waves) -> None:
    [state] = waves.groups["states"]
    assert list(between(state, 0, 5000)) == [(0, 5000, 1)]
    assert list(between(state, 20_000, 30_000)) == [(20_000, 21_000, 1), (21_000, 30_000, 2)]
    assert list(between(state, 50_000, 90_000)) == [(50_000, 90_000, 2)]


def test_lists_for_the_viewers(waves: Waves, tmp_path: Path) -> None:
    gtkwave, surfer = write_lists(tmp_path, waves, 10)
    assert gtkwave == f"gtkwave {waves.path} {tmp_path / 'signals.gtkw'}"
    assert surfer == f"surfer {waves.path} --command-file {tmp_path / 'signals.sucl'}"
    saved = (tmp_path / "signals.gtkw").read_text()
    assert saved.startswith("[timestart] 0\n*-14.0 21000 -1 ")
    assert "@200\n-in\n@28\ntop.in_valid_i\n@28\ntop.in_ready_o\n@22\ntop.in_data_i[7:0]\n" in saved
    commands = (tmp_path / "signals.sucl").read_text().splitlines()
    assert commands[:3] == ["divider_add clock and reset", "variable_add top.clk_i", "variable_add top.rst_ni"]
    assert commands[-2:] == ["cursor_set 21000", "goto_cursor"]


def test_picture_of_a_window(waves: Waves, tmp_path: Path) -> None:
    svg = write_picture(tmp_path, waves, 25).read_text()
    texts = set(re.findall(r">([^<>]+)</text>", svg))
    assert texts >= {"clk_i", "in_valid_i", "in_data_i", "u_one.state_q", "count_o", "5", "1d", "2", "cycles"}
    assert "hidden" not in texts and "4" not in texts  # data of cycle 4, before the window
    with pytest.raises(InputError, match=f"--at {CYCLES}: the run ends in cycle {CYCLES - 1}: give an earlier cycle"):
        write_picture(tmp_path, waves, CYCLES)


def test_a_failure_names_the_command_that_shows_it() -> None:
    bench, reason = find("array3"), f"layers: pass 3 (comparison 2, {moment(2469)}): expected 2, got 3"
    lines = failure_lines(bench, {"reason": reason, "seed": 7}, Path("a b.json"))
    assert lines == f"{reason}\nlook: make wave TEST=array3 SEED=7 CONFIG='a b.json' AT=1234"
    assert named_cycle("[21000] %Error: x.sv:15: Assertion failed in x.Rose: planted") == 10
    assert failure_lines(bench, {"reason": "no end", "seed": 7}) == "no end\nlook: make wave TEST=array3 SEED=7"
    assert [cycle_at(begin_ns(cycle)) for cycle in (0, 7)] == [0, 7] and cycle_at(0) == -1


def test_whole_accelerators_record_events() -> None:
    assert [name for name in ("fifo0", "array16", "pass0", "net1", "pins0") if records_events(find(name))] == [
        "net1",
        "pins0",
    ]


@pytest.mark.regress
def test_a_waveform_of_a_test(seed: int, tmp_path: Path) -> None:
    simulate(find("fifo0"), seed, waves=True, target=tmp_path / "fifo0")
    waves = Waves(tmp_path / "fifo0" / waveform(), "fifo")
    assert "push_i" in str(waves.groups["ports"]) or "valid_i" in str(waves.groups)
    assert waves.cycles > 100 and write_picture(tmp_path, waves, 50).exists()
