# SPDX-License-Identifier: Apache-2.0
"""Write an int8 .tflite or .onnx model as C99, for any C compiler and without the accelerator.

    eyrie c MODEL -o DIR [--name NAME]

DIR gets NAME.h with the declaration of the function NAME_run, NAME.c, and NAME_constants.h for NAME.c. docs/howto/c.md
documents how to build and call them.
"""

import argparse
import re

from eyrie.compiler.c.names import HEADERS, KEYWORDS, identifier
from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_folder
from eyrie.compiler.frontend.file import load, read_model
from eyrie.model.messages import about
from eyrie.runtime import progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="MODEL", help="int8 .tflite or .onnx model")
    parser.add_argument("-o", "--output", type=file_name, metavar="DIR", required=True, help="folder for the files")
    parser.add_argument(
        "--name",
        type=c_name,
        metavar="NAME",
        help="name of the files, and prefix of all names in the header (from the model's file)",
    )


def run(options: argparse.Namespace) -> None:
    read_model(options.model)
    check_folder(options.output)
    from eyrie.compiler.c.sources import sources_of

    with progress.task(f"writing {options.model.name} as C"), about(options.model):
        sources = sources_of(load(options.model), options.name or identifier(options.model.stem, "network"))
    sources.save(options.output)
    if not options.quiet:
        print(f"{', '.join(sources.files)} in {options.output}")
        print(
            f"arena {sources.arena_bytes:,} bytes, of which {sources.lowered.least_bytes:,} are in use at once; "
            f"constants {sources.constant_bytes:,} bytes"
        )


def c_name(text: str) -> str:
    """An identifier of C."""
    if not re.fullmatch(r"[A-Za-z]\w*", text, re.ASCII) or text in KEYWORDS:
        what = "must be an identifier of C, with a letter first, and no keyword, main or macro"
        raise argparse.ArgumentTypeError(f"{text!r}: {what}")
    if text.lower() in HEADERS:
        raise argparse.ArgumentTypeError(f"{text!r}: is the name of a header of C: choose another name")
    if text.endswith("_constants"):
        raise argparse.ArgumentTypeError(f"{text!r}: ends like a file of constants: choose another name")
    return text
