# SPDX-License-Identifier: Apache-2.0
"""The command line of Eyrie: `eyrie COMMAND ...`.

A command is a module of eyrie/commands/ with `add_arguments(parser)` and `run(options)`, which returns the exit code or
None. The module has only fast imports, so that a bad command line is rejected at once; `run` imports the rest.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType

import eyrie
from eyrie.compiler.command_line import Parser, say, what_is_wrong
from eyrie.compiler.frontend.extra import install_missing
from eyrie.model.messages import unknown
from eyrie.runtime import progress
from eyrie.runtime.signals import Terminated, clean_up_first

GROUPS = {
    "use": ("demo", "compile", "run", "profile", "c", "asm", "operators", "cache"),
    "inspect": ("schedule", "graph", "trace", "ir", "buffers", "ids", "synth"),
    "test": ("list", "sim", "wave", "layer", "golden", "check", "regress", "lint", "docs", "mutate", "machines"),
    "measure": ("bench", "accuracy", "mlperf-tiny", "zoo", "family", "sizes", "explore", "dataset", "study"),
    "data": ("quantize-model", "cifar10", "train", "quantize", "mobilenets", "classics", "resnet50", "wavenet"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
INTERRUPTED = 130  # exit code of what Ctrl-C ends
COLLECTED = 100_000  # new objects after which garbage is collected: a compile makes many that stay, and little garbage
FAULT = 70  # exit code of a fault of Eyrie (EX_SOFTWARE of sysexits.h)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code of the process."""
    clean_up_first()
    gc.set_threshold(COLLECTED)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may hold any bytes
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if sys.flags.optimize > 1:
        say(f"eyrie: {eyrie.NO_DOCSTRINGS}")
        return 2
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"eyrie {eyrie.__version__}")
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        say(f"eyrie: {unknown('command', name, COMMANDS)}")
        return 2
    return run_command(name, rest)


def run_command(name: str, arguments: Sequence[str]) -> int:
    """Run a known command and return its exit code; report an error in one line."""
    try:
        module = _module(name)
        parser = Parser(
            prog=f"eyrie {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add_options(parser, name)
        options = parser.parse_args(arguments)
        progress.show(None if options.quiet else sys.stderr)
        install_missing(options.install)
        code = module.run(options) or 0
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, Terminated) as end:
        if "MAKELEVEL" not in os.environ:  # make has a line of its own
            say(f"eyrie {name}: {'terminated' if isinstance(end, Terminated) else 'interrupted'}")
        return end.status if isinstance(end, Terminated) else INTERRUPTED
    except BrokenPipeError:  # the reader of the output has closed the pipe
        _drop_output()
        return 1
    except Exception as error:
        said = what_is_wrong(error)
        if said is None:
            return _fault(name, error, "--debug" in arguments)
        say(f"eyrie {name}: {said}")
        if isinstance(error, OSError) and not error.filename:
            _drop_output()
        return 1
    finally:
        progress.show(None)


def add_options(parser: Parser, name: str) -> None:
    """Return the parser of a command's arguments."""
    _module(name).add_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    parser.add_argument("--install", action="store_true", help="install a missing optional package")
    parser.add_argument("--debug", action="store_true", help="show the traceback of a fault of Eyrie")


def _fault(name: str, error: Exception, debug: bool) -> int:
    """Report an exception that is no mistake of the user; its traceback goes to a file, or is shown with `debug`."""
    from tempfile import NamedTemporaryFile
    from traceback import format_exception

    text, place = "".join(format_exception(error)), "above"
    if debug:
        sys.stderr.write(text)
    else:
        with NamedTemporaryFile("w", prefix=f"eyrie-{name}-", suffix=".txt", errors="replace", delete=False) as file:
            file.write(f"eyrie {eyrie.__version__}: {' '.join(sys.argv[1:])}\n{text}")
        place = f"in {file.name}"
    said = f"{type(error).__name__}: {error}"
    say(f"eyrie {name}: a fault of Eyrie ({said}): please report it with the command line and the traceback {place}")
    return FAULT


def _drop_output() -> None:
    """Drop the rest of the output: Python would otherwise try to print it at its end, and complain."""
    if sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


def overview() -> str:
    """Return the text of `eyrie --help`: the commands by group, each with the first line of its module's docstring."""
    groups = [
        f"{group}\n" + "\n".join(f"  {name:11} {_summary(name)}" for name in names) for group, names in GROUPS.items()
    ]
    return "\n\n".join(["usage: eyrie COMMAND ...", *groups, "eyrie COMMAND --help lists the arguments of a command."])


def module_name(name: str) -> str:
    """Return the name of a command's module in eyrie/commands/."""
    return name.replace("-", "_")


def _module(name: str) -> ModuleType:
    return import_module(f"eyrie.commands.{module_name(name)}")


def _summary(name: str) -> str:
    """Return the first line of a module's docstring without importing the module."""
    source = (Path(__file__).parent / "commands" / f"{module_name(name)}.py").read_text()
    return source.split('"""')[1].split("\n")[0]
