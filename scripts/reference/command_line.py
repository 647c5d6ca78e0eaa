# SPDX-License-Identifier: Apache-2.0
"""The page of the command line: every command by group, with its usage, arguments and help."""

import argparse
from importlib import import_module

from eyrie.command_line import FAULT, GROUPS, INTERRUPTED, add_options, module_name
from eyrie.compiler.command_line import Parser
from scripts.reference.markdown import code, docstring, linked, page, table

TITLES = {
    "use": "Use: compile and run networks",
    "inspect": "Inspect: graphs, intermediate text, IDs, gates",
    "test": "Test: testbenches and checks",
    "measure": "Measure: cycles, accuracy, models",
    "data": "Data: data sets, training, example models",
}
EXIT_CODES = (
    (0, "success"),
    (1, "an error in a file or an argument, or a failed check"),
    (2, "an error in the command line"),
    (FAULT, "an internal error of Eyrie"),
    (INTERRUPTED, "interrupted by Ctrl-C"),
)
COMMON = ("help", "quiet", "debug")


def text() -> str:
    """Write the commands."""
    sections = []
    for group, names in GROUPS.items():
        sections += [f"## {TITLES[group]}", *(_command(name) for name in names)]
    return page(
        "Command line",
        "`eyrie COMMAND` runs a command; in a checkout it is `.venv/bin/eyrie COMMAND`. Every command also has "
        "`--help`, `--quiet` (print no progress), `--install` (install a missing optional package) and "
        "`--debug` (show the traceback of an internal error).",
        "the modules of `eyrie/commands/`",
        table(("exit code", "meaning"), EXIT_CODES),
        *sections,
    )


def _command(name: str) -> str:
    parser = Parser(prog=f"eyrie {name}")
    add_options(parser, name)
    rows = [(_names(action), linked(_help(action))) for action in parser._actions if action.dest not in COMMON]
    module = import_module(f"eyrie.commands.{module_name(name)}")
    parts = [f"### eyrie {name}", docstring(module.__doc__ or "")]
    return "\n\n".join([*parts, table(("argument", "meaning"), rows)] if rows else parts)


def _names(action: argparse.Action) -> str:
    metavar = action.metavar or action.dest.upper()
    value = " ".join(metavar) if isinstance(metavar, tuple) else metavar
    if not action.option_strings:
        return code(value)
    takes = action.nargs != 0
    return ", ".join(code(f"{option} {value}" if takes else option) for option in action.option_strings)


def _help(action: argparse.Action) -> str:
    said = (action.help or "").replace("%%", "%")
    return said.replace("%(default)s", str(action.default))
