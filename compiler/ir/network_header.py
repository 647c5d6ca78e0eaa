# SPDX-License-Identifier: Apache-2.0
"""The header network.h of a compiled network, for C programs and the driver in runtime/c/driver."""

import string
import zlib

from eyrie.compiler.ir.image_layout import DramMap, ImageLayout, ValueTable
from eyrie.compiler.ir.input_layout import Patches

HEAD = """/* SPDX-License-Identifier: Apache-2.0
 * Written by eyrie compile: the network of image.bin beside it. docs/howto/driver.md says how to run it.
 */
#ifndef EYRIE_NETWORK_H
#define EYRIE_NETWORK_H

#include "eyrie_driver.h"
"""
PLAIN = frozenset(string.ascii_letters + string.digits + " _-+./:;,()[]")  # others may have a meaning in C strings


def header_text(layout: ImageLayout, memory: bytes) -> str:
    """Return the text of network.h, from the layout and the contents of image.bin."""
    return f"{HEAD}\n{network_text(layout, memory, 'network')}\n#endif\n"


def network_text(layout: ImageLayout, memory: bytes, name: str) -> str:
    """Return a struct eyrie_network of this name, and the arrays that it needs."""
    sizes = ", ".join(str(size) for size in layout.config.parameters.values())
    ends = {"inputs": layout.inputs, "outputs": layout.outputs}
    tables = {own: f"{name}_table{number}" for number, (own, map_) in enumerate(layout.inputs.items()) if map_.table}
    arrays = [_table(tables[own], map_.table) for own, map_ in layout.inputs.items() if map_.table]
    for end, maps in ends.items():
        entries = "".join(_map(own, map_, f"&{tables[own]}" if map_.table else "NULL") for own, map_ in maps.items())
        arrays.append(f"static const struct eyrie_map {name}_{end}[] = {{\n{entries}}};\n")
    joined = "\n".join(arrays)
    return f"""{joined}
static const struct eyrie_network {name} = {{
    {len(memory)}u, /* bytes */
    0x{zlib.crc32(memory):08x}u, /* crc */
    {layout.program.address}u, /* program */
    {layout.program.bytes}u, /* program_bytes */
    {layout.images}u, /* images */
    {{{sizes}}}, /* sizes */
    {len(layout.inputs)}u, /* input_count */
    {len(layout.outputs)}u, /* output_count */
    {name}_inputs, {name}_outputs}};
"""


def _table(name: str, table: ValueTable) -> str:
    """Return a struct eyrie_table."""
    rows = ",\n     ".join(", ".join(map(str, table.values[n : n + 16])) for n in range(0, len(table.values), 16))
    return f"static const struct eyrie_table {name} = {{\n    {{{rows}}},\n    {table.zero_point}}};\n"


def _map(name: str, map_: DramMap, table: str) -> str:
    """Return a struct eyrie_map. table: its address in C"""
    layout = map_.layout
    height, width, channels = map_.laid
    groups = layout.groups
    patches = ", ".join(f"{number}u" for number in patch_numbers(map_.patches))
    return (
        f'    {{"{_literal(name)}",\n'
        f"     {map_.address}u, /* address */\n"
        f"     {height}u, {width}u, {channels}u, /* height, width, channels */\n"
        f"     {groups}u, {layout.pitch}u, {str(layout.packed).lower()}, /* groups, pitch, packed */\n"
        f"     {_float(map_.scale)}, {map_.zero_point}, /* scale, zero_point */\n"
        f"     {{{patches}}}, /* patches */\n"
        f"     {table}}}, /* table */\n"
    )


def patch_numbers(patches: Patches | None) -> tuple[int, ...]:
    """Return the struct eyrie_patches of an input or output."""
    if patches is None:
        return (0,) * 8
    return (patches.rows, patches.cols, *patches.kernel, *patches.step, *patches.before)


def _literal(name: str) -> str:
    """Return a name as the text of a C string literal: its UTF-8 bytes, special bytes in octal."""
    return "".join(chr(byte) if chr(byte) in PLAIN else f"\\{byte:03o}" for byte in name.encode())


def _float(value: float) -> str:
    """Return a constant of C type float."""
    return f"{value:.9e}f"
