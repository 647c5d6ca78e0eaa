# SPDX-License-Identifier: Apache-2.0
"""The synthesis from RTL to gates: elaboration and mapping, with one yosys command each."""

import json
import shutil
from pathlib import Path

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.folders import ROOT
from eyrie.runtime.synthesis.design import Json
from eyrie.runtime.synthesis.jobs import YOSYS, Command, Job
from eyrie.runtime.synthesis.library import ABC_GATES, Library

FILE_LIST = "rtl/eyrie.f"
CHOSEN = "chosen_blocks"  # the module with the blocks to map

# Long scripts of abc take hours of WebAssembly for the multiplexers of a memory made of registers, and lose the short
# carries of yosys's adders. This is the end of its default script.
_SCRIPT = "+strash;&get,-n;&dch,-f;&nf;&put"
_REGISTERS = ("$_DFF_P_", "$_DFF_PN0_", "$_DFF_PN1_")


def elaboration(folder: Path, top: str, config: AcceleratorConfig) -> Job:
    """Write elaborated.json of the accelerator in the checkout. Every instance is a module of its own."""
    parameters = " ".join(f"-G {name}={value}" for name, value in config.parameters.items())
    shutil.copytree(ROOT / "rtl", folder / "rtl")
    script = [
        f"read_slang -j 1 --keep-hierarchy --top {top} {parameters} -f {FILE_LIST}",
        f"hierarchy -check -top {top}",
        "write_json elaborated.json",
    ]
    yield yosys(folder, "elaboration", script)


def yosys(folder: Path, name: str, script: list[str]) -> Command:
    """Write a script into the folder; return the command that runs it."""
    (folder / f"{name}.ys").write_text("\n".join(script) + "\n")
    return Command(YOSYS, ("-Q", "-T", f"{name}.ys"), f"{name}.log")


def holding(modules: Json, names: list[str]) -> Json:
    """Return a module with one instance of each named module. All their ports become its ports."""
    ports, cells, nets, count = {}, {}, {}, 2
    for index, name in enumerate(names):
        pins = {}
        for port, entry in modules[name]["ports"].items():
            bits = list(range(count, count + len(entry["bits"])))
            count += len(bits)
            ports[f"{port}_{index}"] = {"direction": entry["direction"], "bits": bits}
            nets[f"{port}_{index}"] = {"hide_name": 0, "bits": bits, "attributes": {}}
            pins[port] = bits
        cells[f"u_{index}"] = {
            "hide_name": 0,
            "type": name,
            "parameters": {},
            "attributes": {},
            "connections": pins,
            "port_directions": {port: entry["direction"] for port, entry in modules[name]["ports"].items()},
        }
    return {"attributes": {}, "ports": ports, "cells": cells, "netnames": nets}


def mapping(folder: Path, modules: Json, names: list[str], library: Library) -> Job:
    """Write mapped.json: the named modules, and the blocks in them, in cells of the library.

    `modules` is the result of design.for_mapping.
    """
    design = {"creator": "eyrie", "modules": modules | {CHOSEN: holding(modules, names)}}
    (folder / "blocks.json").write_text(json.dumps(design))
    script = [
        "read_json blocks.json",
        f"hierarchy -check -top {CHOSEN}",
        "flatten",
        f"synth -top {CHOSEN} -nofsm -noabc",
        "opt_clean -purge",
    ]
    if library.file:
        shutil.copyfile(library.file, folder / "cells.lib")
        script += [
            "read_liberty -lib -ignore_miss_func cells.lib",
            "dfflibmap -liberty cells.lib",
            f"abc -liberty cells.lib -script {_SCRIPT}",
        ]
    else:
        # abc would map the logic of each clock, enable and reset by itself: it is not to know registers.
        script += ["dfflegalize " + " ".join(f"-cell {kind} x" for kind in _REGISTERS), "opt_clean -purge"]
        script += [f"chtype -set HELD{index} t:{kind}" for index, kind in enumerate(_REGISTERS)]
        script += [f"abc -g {ABC_GATES} -script {_SCRIPT}"]
        script += [f"chtype -set {kind} t:HELD{index}" for index, kind in enumerate(_REGISTERS)]
    yield yosys(folder, "mapping", [*script, "opt_clean -purge", "check", "write_json mapped.json"])
