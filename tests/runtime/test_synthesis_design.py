# SPDX-License-Identifier: Apache-2.0
"""The elaborated accelerator: equal modules become one, memories are found and have registered reads."""

import random

import pytest

from eyrie.runtime.simulator.sources import closure
from eyrie.runtime.synthesis.blocks import BLOCKS, MULTIPLIERS, PLACED, REQUANTIZERS, TOP
from eyrie.runtime.synthesis.design import find_memories, for_mapping, merged
from tests.runtime.netlists import gate, instance, module

RAM = {"clk_i": "input", "row_i": "input", "data_o": "output"}


def adder(first: int, names: str, kind: str = "$_XOR_", constant: str = "1") -> dict:
    """Two gates; nets from `first` on, cells with these names, in a random order."""
    net = range(first, first + 4)
    cells = [(names[0], gate(kind, net[2], net[0], net[1])), (names[1], gate("$_AND_", net[3], net[2], constant))]
    random.Random(names).shuffle(cells)
    return module({"a_i": [net[0]], "b_i": [net[1]]}, {"y_o": [net[3]]}, dict(cells))


def config(*leaves: dict) -> dict:
    """A top with an instance of each leaf, named as slang names them."""
    directions = {"a_i": "input", "b_i": "input", "y_o": "output"}
    cells = {
        f"u_{index}": instance(f"leaf$top.u_{index}", directions, a_i=[2], b_i=[3], y_o=[10 + index])
        for index in range(len(leaves))
    }
    top = module({"a_i": [2], "b_i": [3]}, {"y_o": list(range(10, 10 + len(leaves)))}, cells)
    return {"top": top} | {f"leaf$top.u_{index}": leaf for index, leaf in enumerate(leaves)}


def test_equal_modules_become_one() -> None:
    design = merged(config(adder(2, "pq"), adder(7, "yx"), adder(40, "ab")), "top")
    assert set(design.modules) == {"top", "leaf"} and design.instances == {"top": 1, "leaf": 3}
    assert {cell["type"] for cell in design.modules["top"]["cells"].values()} == {"leaf"}


@pytest.mark.parametrize("other", [adder(2, "pq", "$_AND_"), adder(2, "pq", constant="0"), adder(2, "pq", constant=4)])
def test_different_modules_stay_two(other: dict) -> None:
    design = merged(config(adder(2, "pq"), other, adder(9, "pq")), "top")
    assert design.instances == {"top": 1, "leaf": 2, "leaf.2": 1}


def test_swapped_pins_are_another_module() -> None:
    swapped = adder(2, "pq")
    swapped["ports"]["a_i"], swapped["ports"]["b_i"] = swapped["ports"]["b_i"], swapped["ports"]["a_i"]
    swapped["cells"]["p"]["type"] = "$_MUX_"
    plain = adder(2, "pq")
    plain["cells"]["p"]["type"] = "$_MUX_"
    assert merged(config(plain, swapped), "top").instances == {"top": 1, "leaf": 1, "leaf.2": 1}


def test_instances_of_instances_are_counted() -> None:
    pair = {"u_0": instance("leaf$a", {}, y_o=[5]), "u_1": instance("leaf$b", {}, y_o=[6])}
    modules = {
        "top": module(
            {},
            {"y_o": [2]},
            {f"u_{name}": instance(f"pair${name}", {}, y_o=[net]) for name, net in (("x", 2), ("y", 3))},
        ),
        "pair$x": module({}, {"y_o": [5]}, pair),
        "pair$y": module({}, {"y_o": [5]}, pair),
        "leaf$a": module({}, {"y_o": [2]}, {"n": gate("$_NOT_", 2, "0")}),
        "leaf$b": module({}, {"y_o": [2]}, {"m": gate("$_NOT_", 2, "0")}),
    }
    assert merged(modules, "top").instances == {"top": 1, "pair": 2, "leaf": 4}


# ---- Memories ----


def ram(words: int, registered: bool, source: str = "rtl/tech/ram.sv:3.1") -> dict:
    """Four bits a word; the read data is a register's, or the array's own."""
    read = {
        "hide_name": 1,
        "type": "$memrd_v2",
        "attributes": {},
        "parameters": {"MEMID": "\\words_q", "CLK_ENABLE": "0"},
        "port_directions": {"ADDR": "input", "DATA": "output"},
        "connections": {"ADDR": [3], "DATA": [4, 5, 6, 7]},
    }
    out = [8, 9, 10, 11]
    held = {
        "hide_name": 1,
        "type": "$dff",
        "parameters": {"WIDTH": "100"},
        "attributes": {},
        "port_directions": {"CLK": "input", "D": "input", "Q": "output"},
        "connections": {"CLK": [2], "D": [4, 5, 6, 7], "Q": out},
    }
    made = module(
        {"clk_i": [2], "row_i": [3]},
        {"data_o": out if registered else [4, 5, 6, 7]},
        {"read": read} | ({"held": held} if registered else {}),
        memories={"words_q": {"width": 4, "size": words, "start_offset": 0}},
    )
    return made | {"attributes": {"src": source}}


def with_ram(leaf: dict) -> dict:
    cells = {"u_ram": instance("ram$top.u_ram", RAM, clk_i=[2], row_i=[3], data_o=[4, 5, 6, 7])}
    return {"top": module({"clk_i": [2], "row_i": [3]}, {"data_o": [4, 5, 6, 7]}, cells), "ram$top.u_ram": leaf}


def test_memories_are_those_of_tech_from_a_kilobit_on() -> None:
    found = []
    for words, source in ((256, "rtl/tech/ram.sv:3.1"), (255, "rtl/tech/ram.sv:3.1"), (256, "rtl/array/ram.sv:3.1")):
        design = merged(with_ram(ram(words, True, source)), "top")
        find_memories(design)
        found.append(design.memories)
    assert found == [{"ram": 1024}, {}, {}]


def test_a_memory_can_be_named() -> None:
    design = merged(with_ram(ram(8, True, "rtl/glb/ram.sv:3.1")), "top")
    find_memories(design, ("ram",))
    assert design.memories == {"ram": 32}
    boxed = for_mapping(design, {"top"})
    assert not boxed["ram"]["cells"] and "blackbox" in boxed["ram"]["attributes"]
    assert boxed["top"]["cells"] and "keep_hierarchy" in boxed["top"]["attributes"]


@pytest.mark.parametrize(
    ("leaf", "also", "said"),
    [
        (
            ram(256, False),
            (),
            "ram: data_o depends on row_i in the same cycle: what counts as memory has registered reads",
        ),
        (ram(256, True), ("rom",), "rom: no module of the accelerator with a memory has this name"),
        (ram(0, True, "rtl/x.sv:1.1"), ("ram",), "ram: no module of the accelerator with a memory has this name"),
    ],
)
def test_what_is_no_memory_is_rejected(leaf: dict, also: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError) as rejection:
        find_memories(merged(with_ram(leaf), "top"), also)
    assert str(rejection.value) == said


def test_every_block_is_a_module_of_the_accelerator() -> None:
    assert set(BLOCKS) <= {path.stem for path in closure(TOP)}
    assert {*MULTIPLIERS, *REQUANTIZERS, *PLACED, TOP} <= set(BLOCKS)
