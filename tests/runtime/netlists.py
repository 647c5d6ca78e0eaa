# SPDX-License-Identifier: Apache-2.0
"""Small netlists in yosys's JSON, written by hand."""

import itertools

INPUTS = {"$_NOT_": "A", "$_AND_": "AB", "$_NAND_": "AB", "$_XOR_": "AB", "$_MUX_": "ABS", "$_DFF_P_": "CD"}
OUTPUTS = {"$_DFF_P_": "Q"}


def gate(kind: str, out: int, *pins: int | str) -> dict:
    """A cell of yosys's: pins in the order of INPUTS."""
    names = INPUTS[kind]
    output = OUTPUTS.get(kind, "Y")
    return {
        "hide_name": 1,
        "type": kind,
        "parameters": {},
        "attributes": {},
        "port_directions": dict.fromkeys(names, "input") | {output: "output"},
        "connections": {name: [pin] for name, pin in zip(names, pins, strict=True)} | {output: [out]},
    }


def instance(module: str, directions: dict[str, str], **pins: list) -> dict:
    return {
        "hide_name": 0,
        "type": module,
        "parameters": {},
        "attributes": {},
        "port_directions": directions,
        "connections": pins,
    }


def module(
    inputs: dict[str, list],
    outputs: dict[str, list],
    cells: dict[str, dict],
    nets: dict[str, list] | None = None,
    **more: object,
) -> dict:
    """Ports name their nets; nets: names of further ones."""
    ports = {name: {"direction": "input", "bits": bits} for name, bits in inputs.items()}
    ports |= {name: {"direction": "output", "bits": bits} for name, bits in outputs.items()}
    named = {name: port["bits"] for name, port in ports.items()} | (nets or {})
    return {
        "attributes": {},
        "ports": ports,
        "cells": cells,
        **more,
        "netnames": {name: {"hide_name": 0, "bits": bits, "attributes": {}} for name, bits in named.items()},
    }


def chain(start: int, count: int, end: int, first: int) -> dict[str, dict]:
    """Inverters in a row from net `start` to net `end`; those between are `first` on."""
    nets = [start, *range(first, first + count - 1), end]
    return {f"n{first}_{index}": gate("$_NOT_", out, net) for index, (net, out) in enumerate(itertools.pairwise(nets))}
