# SPDX-License-Identifier: Apache-2.0
"""Programs of operators for the C library (runtime/c/eyrie.h): as text for a program that waits for one, and as C."""

import zlib
from collections.abc import Iterable
from pathlib import Path

from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import DramMap
from eyrie.compiler.ir.network_header import network_text, patch_numbers
from eyrie.operators.requests import Request, read_request
from eyrie.runtime.programs import compiled_operator

ROW_BYTES = 24  # of an image, in a line of C
HEAD = """/* SPDX-License-Identifier: Apache-2.0
 * Written by eyrie operators --c: programs of operators, for runtime/c/eyrie.h.
 */
#include "eyrie.h"
"""


def program_of(path: Path) -> tuple[Request, Path]:
    """Return a request and the folder of its program. Raise InputError, with one line, if it does not compile."""
    request = read_request(path)
    return request, compiled_operator(request.graph, request.name, request.config)


def answer(folder: Path) -> str:
    """Return the input of runtime/soc/operator_programs.c: the file of the image, and the numbers of struct
    eyrie_network.
    """
    image = Image.load(folder)
    program, ends = image.program, [[*maps.items()] for maps in (image.inputs, image.outputs)]
    lines = [
        folder.absolute() / "image.bin",
        _words(image.dram.nbytes, zlib.crc32(image.dram.tobytes()), program.address, program.bytes, image.images),
        _words(*image.config.parameters.values()),
        _words(*map(len, ends)),
    ]
    return "\n".join(map(str, [*lines, *(_map(*entry) for end in ends for entry in end)]))


def _map(name: str, map_: DramMap) -> str:
    layout = map_.layout
    assert map_.table is None  # see `compiled_operator`
    return _words(
        name,
        map_.address,
        *map_.laid,
        layout.groups,
        layout.pitch,
        int(layout.packed),
        f"{map_.scale:.9e}",
        map_.zero_point,
        *patch_numbers(map_.patches),
    )


def _words(*values: object) -> str:
    return " ".join(map(str, values))


def source_text(programs: Iterable[tuple[Request, Path]]) -> str:
    """Return C that defines eyrie_linked_programs: a table of the programs, each once."""
    by_key = {request.key: Image.load(folder) for request, folder in programs}
    parts = [HEAD]
    for number, image in enumerate(by_key.values()):
        contents = image.dram.tobytes()
        rows = ",\n".join(
            "    " + ", ".join(map(str, contents[n : n + ROW_BYTES])) for n in range(0, len(contents), ROW_BYTES)
        )
        parts += [
            f"static const uint8_t image{number}[] = {{\n{rows}}};\n",
            network_text(image, contents, f"network{number}"),
        ]
    table = ",\n".join(f'    {{"{key}",\n     &network{number}, image{number}}}' for number, key in enumerate(by_key))
    parts.append(f"""static const struct eyrie_program table[] = {{
{table}}};

const struct eyrie_programs *eyrie_linked_programs(void) {{
  static const struct eyrie_programs programs = {{table, {len(by_key)}, NULL, NULL}};
  return &programs;
}}
""")
    return "\n".join(parts)
