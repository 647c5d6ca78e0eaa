# SPDX-License-Identifier: Apache-2.0
"""A task of a campaign, and the work of the process that does it."""

import hashlib
import inspect
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from eyrie.measure import Entry
from eyrie.model.errors import InputError
from eyrie.runtime.signals import Terminated
from eyrie.testing.samples import VARIABLE as SCALE

# The files that every result depends on, besides the module of its function: below the folder of the package, and the
# test benches of a checkout.
BENCHES = ("tb/**/*.py", "tb/**/*.sv*")
SOURCES = (
    "rtl/**/*.sv*",
    "runtime/**/*.sv",
    "runtime/**/*.c",
    "runtime/**/*.cpp",
    "runtime/**/*.h",
    "runtime/**/*.py",
    "operators/**/*.py",
    "training/*.py",
    "testing/**/*.py",
    "measure/*.py",
    "measure/networks/*.py",
    "measure/studies/*.py",
    "data/reference/*",
    "data/configurations/*",
)


@dataclass(frozen=True)
class Result:
    """The result of a task.

    entry    values of JSON, by key
    files    contents of files by name: logs
    failure  the reason of a failure. Such a result is not stored, because it may have other causes.
    """

    entry: Entry
    files: dict[str, bytes] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True)
class Task:
    """A task of a campaign.

    name       in tables and messages
    function   at the top level of a module of Eyrie; gets an empty folder and the arguments
    arguments  by name: values of JSON, and bytes, because another computer may not have the file
    again      command line that does this task only
    """

    name: str
    function: Callable[..., Result]
    arguments: Entry
    again: str

    def key(self, sources: str) -> str:
        """Return the digest of everything that the result depends on; `sources` is the result of sources_digest."""
        module = hashlib.sha256(Path(inspect.getfile(self.function)).read_bytes()).hexdigest()
        scale = os.environ.get(SCALE, "")
        named = f"{self.function.__module__}.{self.function.__qualname__}"
        given = json.dumps(self.arguments, sort_keys=True, default=lambda value: hashlib.sha256(value).hexdigest())
        return hashlib.sha256("\0".join((sources, sys.version, scale, module, named, given)).encode()).hexdigest()


def sources_digest() -> str:
    """Return the digest of all files that results depend on."""
    from eyrie.runtime.digests import COMPILER, digest_of
    from eyrie.runtime.folders import ROOT

    return (digest_of(*SOURCES, *COMPILER) + digest_of(*BENCHES, root=ROOT)).hex()


@cache
def _own_sources() -> str:
    """The digest of the files when this process began to work."""
    return sources_digest()


def perform(task: Task, sources: str, end: float, scale: str) -> Result | None:
    """Do a task in a worker process. scale: the client's EYRIE_SCALE

    Return None after the time `end` (time.time). Raise InputError if the worker has other sources than the client.
    """
    from eyrie.runtime.folders import BUILD

    if _own_sources() != sources:
        raise InputError(
            f"the worker on {socket.gethostname()} has other sources of Eyrie than this command: "
            "install the same version there, and start the worker again"
        )
    if time.time() > end:
        return None
    os.environ[SCALE] = scale
    (BUILD / "tasks").mkdir(parents=True, exist_ok=True)
    try:
        with TemporaryDirectory(dir=BUILD / "tasks") as folder:
            return task.function(Path(folder), **task.arguments)
    except Terminated as end_of_worker:  # of a local one, which would go on with its next task
        os._exit(end_of_worker.status)
