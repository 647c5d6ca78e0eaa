# SPDX-License-Identifier: Apache-2.0
"""The header network.h of a compiled network, for C programs and the driver in runtime/c/driver."""

import string
import zlib

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.model.config import AcceleratorConfig

HEAD = """/* SPDX-License-Identifier: Apache-2.0
 * Written by eyrie compile: the network of image.bin beside it. docs/howto/driver.md says how to run it.
 */
#ifndef EYRIE_NETWORK_H
#define EYRIE_NETWORK_H

#include "eyrie_driver.h"
"""
PLAIN = frozenset(string.ascii_letters + string.digits + " _-+./:;,()[]")  # others may have a meaning in C strings


def header_text(contents: dict, memory: bytes) -> str:
    """Return the text of network.h, from the contents of layout.json and image.bin."""
    return f"{HEAD}\n{network_text(contents, memory, 'network')}\n#endif\n"


def network_text(contents: dict, memory: bytes, name: str) -> str:
    """Return a struct eyrie_network of this name, and the arrays that it needs."""
    sizes = ", ".join(str(size) for size in AcceleratorConfig.of(contents["config"]).parameters.values())
    ends = {end: contents[end] for end in ("inputs", "outputs")}
    arrays = "\n".join(
        f"static const struct eyrie_map {name}_{end}[] = {{\n{''.join(map(_map, places, places.values()))}}};\n"
        for end, places in ends.items()
    )
    return f"""{arrays}
static const struct eyrie_network {name} = {{
    {contents["bytes"]}u, /* bytes */
    0x{zlib.crc32(memory):08x}u, /* crc */
    {contents["program"]["address"]}u, /* program */
    {contents["program"]["bytes"]}u, /* program_bytes */
    {contents["images"]}u, /* images */
    {{{sizes}}}, /* sizes */
    {len(ends["inputs"])}u, /* input_count */
    {len(ends["outputs"])}u, /* output_count */
    {name}_inputs, {name}_outputs}};
"""


def _map(name: str, place: dict) -> str:
    """Return a struct eyrie_map."""
    layout = FeatureMap(**place["layout"])
    height, width, channels = place["shape"]
    groups = layout.groups
    patches = ", ".join(f"{number}u" for number in patch_numbers(place))
    return (
        f'    {{"{_literal(name)}",\n'
        f"     {place['address']}u, /* address */\n"
        f"     {height}u, {width}u, {channels}u, /* height, width, channels */\n"
        f"     {groups}u, {layout.pitch}u, {str(layout.packed).lower()}, /* groups, pitch, packed */\n"
        f"     {_float(place['scale'])}, {place['zero_point']}, /* scale, zero_point */\n"
        f"     {{{patches}}}}}, /* patches */\n"
    )


def patch_numbers(place: dict) -> tuple[int, ...]:
    """Return the struct eyrie_patches of a layout entry of an input or output."""
    patches = place["patches"]
    if patches is None:
        return (0,) * 8
    return (patches["rows"], patches["cols"], *patches["kernel"], *patches["step"], *patches["before"])


def _literal(name: str) -> str:
    """Return a name as the text of a C string literal: its UTF-8 bytes, special bytes in octal."""
    return "".join(chr(byte) if chr(byte) in PLAIN else f"\\{byte:03o}" for byte in name.encode())


def _float(value: float) -> str:
    """Return a constant of C type float."""
    return f"{value:.9e}f"
