# SPDX-License-Identifier: Apache-2.0
"""The command line of Eyrie: `eyrie COMMAND ...`.

A command is a module with `add_arguments(parser)` and `run(options)`, which returns the exit code or nothing. Its
module imports nothing slow: a bad command line is refused at once, and `run` imports what the work needs. A script
of the same name (python scripts/run_net.py ...) calls the same functions.
"""

import argparse
import ast
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from compiler.command_line import Parser, say, what_is_wrong
from model.messages import unknown
from runtime import progress
from runtime.signals import Terminated, clean_up_first

COMMANDS = {
    "demo": "scripts.demo",
    "compile": "scripts.compile_net",
    "asm": "scripts.asm",
    "c": "scripts.write_c",
    "graph": "scripts.draw_graph",
    "ir": "scripts.write_ir",
    "buffers": "scripts.buffers",
    "run": "scripts.run_net",
    "profile": "scripts.profile_net",
    "case": "scripts.run_case",
    "ids": "scripts.gen_ids",
    "golden": "scripts.gen_golden",
    "accuracy": "scripts.accuracy",
    "bench": "scripts.bench",
    "list": "scripts.list_tests",
    "sim": "scripts.sim",
    "check": "scripts.check",
    "lint": "scripts.lint",
    "synth": "scripts.synth",
    "mutate": "scripts.mutate",
    "machines": "scripts.machines",
    "zoo": "scripts.zoo",
    "family": "scripts.family",
    "sizes": "scripts.sizes",
    "study": "scripts.study",
    "operators": "scripts.operators",
    "mobilenets": "scripts.mobilenets",
    "classics": "scripts.classics",
    "resnet50": "scripts.resnet50",
    "wavenet": "scripts.wavenet",
    "cifar10": "scripts.fetch_cifar10",
    "train": "scripts.train",
    "quantize": "scripts.quantize",
}
INTERRUPTED = 130  # exit code of what Ctrl-C ends


def main(arguments: Sequence[str] | None = None) -> int:
    """What a process does: runs a command, and returns the exit code."""
    clean_up_first()
    sys.stdout.reconfigure(errors="backslashreplace")  # names of files may hold any bytes
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        say(f"eyrie: {unknown('command', name, COMMANDS)}")
        return 2
    return run_command(name, rest)


def run_command(name: str, arguments: Sequence[str]) -> int:
    """Runs a command that there is; returns its exit code. What goes wrong is said in one line."""
    try:
        module = importlib.import_module(COMMANDS[name])
        parser = Parser(prog=f"eyrie {name}", description=module.__doc__,
                        formatter_class=argparse.RawDescriptionHelpFormatter)
        add_options(parser, name)
        options = parser.parse_args(arguments)
        progress.show(None if options.quiet else sys.stderr)
        code = module.run(options) or 0
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, Terminated) as end:
        interrupted = isinstance(end, KeyboardInterrupt)
        if "MAKELEVEL" not in os.environ:  # make has a line of its own
            say(f"eyrie {name}: {'interrupted' if interrupted else 'terminated'}")
        return INTERRUPTED if interrupted else end.code
    except BrokenPipeError:  # whoever read the output has gone
        _drop_output()
        return 1
    except Exception as error:
        said = what_is_wrong(error)
        if said is None:
            raise
        say(f"eyrie {name}: {said}")
        if isinstance(error, OSError) and not error.filename:
            _drop_output()
        return 1
    finally:
        progress.show(None)


def add_options(parser: Parser, name: str) -> None:
    """What a command takes."""
    importlib.import_module(COMMANDS[name]).add_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing of what is going on")


def _drop_output() -> None:
    """What is still to be printed goes nowhere: at its end Python would try once more, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


def overview() -> str:
    """What `eyrie --help` prints."""
    lines = "\n".join(f"  {name:10} {_sentence(module)}" for name, module in COMMANDS.items())
    return f"usage: eyrie COMMAND ...\n\n{lines}\n\neyrie COMMAND --help says what a command takes."


def _sentence(module: str) -> str:
    """The first line of a module's docstring; the module is not imported."""
    source = Path(importlib.util.find_spec(module).origin).read_text()
    return ast.get_docstring(ast.parse(source)).split("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
