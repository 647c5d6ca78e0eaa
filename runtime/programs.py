# SPDX-License-Identifier: Apache-2.0
"""Compiled programs, kept and reused."""

import hashlib
import json
from pathlib import Path

from compiler.folder import save
from compiler.frontend.file import read_model
from compiler.ir.image import Image
from compiler.network import compile_network
from compiler.options import EFFORT
from compiler.performance import performance
from model.config import DEFAULT, MachineConfig
from model.messages import about
from runtime import progress
from runtime.digests import COMPILER, digest_of
from runtime.folders import BUILD, locked, replacing

PROGRAMS = BUILD / "programs"


def compiled(model: Path, machine: MachineConfig = DEFAULT, images: int = 1, objective: str = "cycles",
             effort: int = EFFORT) -> Path:
    """The folder of a model's program, compiled first if it is not there yet.

    It is known by all that decides what the compiler makes: the model's bytes, the machine, the options, and the
    sources of compiler and model. Raises ValueError, in one line, for a model that does not compile.
    """
    contents = read_model(model)
    options = json.dumps([machine.as_dict(), images, objective, effort])
    key = hashlib.sha256(b"\0".join([digest_of(*COMPILER), options.encode(), contents])).hexdigest()[:16]
    folder = PROGRAMS / f"{model.stem}-{key}"
    if not _whole(folder):
        with progress.task(f"compiling {model.name}") as task, locked(folder.with_name(f"{folder.name}.lock")):
            if not _whole(folder):  # nobody else has compiled it meanwhile
                with replacing(folder) as part:
                    with about(model):
                        stages = compile_network(model, machine, objective, effort, images, on_stage=task.say)
                    save(stages, performance(stages), part)
    return folder


def _whole(folder: Path) -> bool:
    try:
        Image.load(folder)
    except ValueError:
        return False
    return True
