# SPDX-License-Identifier: Apache-2.0
"""Functions that all command lines share: an error is reported in one line, with the likely correction."""

import argparse
import math
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import NoReturn, TypeVar, overload

from eyrie.model.errors import InputError
from eyrie.model.messages import one_line, unknown

_ARGPARSE: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (  # argparse's messages, and ours
    (
        re.compile(r"^argument (?:-\w/)?([^:]+): expected (?:one|at least one) argument$"),
        r"\1 needs a value; one that begins with a dash is written \1=VALUE",
    ),
    (re.compile(r"^argument (?:-\w/)?([^:]+): ignored explicit argument .*$", re.DOTALL), r"\1 takes no value"),
    (re.compile(r"^argument (?:-\w/)?([^:]+): "), r"\1 "),
    (re.compile(r"^one of the arguments (\S+) (\S+) is required$"), r"missing option \1 or \2"),
    (re.compile(r"^the following arguments are required: (.*)$"), lambda found: _missing(found[1])),
)

Options = TypeVar("Options")


class Parser(argparse.ArgumentParser):
    """A parser that prints an error without the usage, which --help prints, and exits with code 2."""

    def __init__(
        self,
        prog: str | None = None,
        description: str | None = None,
        formatter_class: type[argparse.HelpFormatter] = argparse.HelpFormatter,
    ) -> None:
        super().__init__(prog, description=description, formatter_class=formatter_class, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        for theirs, ours in _ARGPARSE:
            message = theirs.sub(ours, message)
        hint = "" if message.endswith("?") else "; see --help"
        self.exit(2, one_line(f"{self.prog}: {message}{hint}") + "\n")

    @overload
    def parse_args(self, args: Iterable[str] | None = None, namespace: None = None) -> argparse.Namespace: ...

    @overload
    def parse_args(self, args: Iterable[str] | None, namespace: Options) -> Options: ...

    @overload
    def parse_args(self, *, namespace: Options) -> Options: ...

    def parse_args(
        self, args: Iterable[str] | None = None, namespace: Options | None = None
    ) -> Options | argparse.Namespace:
        words = sys.argv[1:] if args is None else list(args)
        for word in takewhile(lambda word: word != "--", words):  # before errors that follow from it
            if word.startswith("--"):
                self._check_option(word)
        options: Options | argparse.Namespace
        options, surplus = self.parse_known_args(words, namespace)
        for word in surplus:
            if word.startswith("-"):
                self._check_option(word)
            self.error(f"{word}: one argument too many")
        return options

    def _check_option(self, word: str) -> None:
        name = word.split("=")[0]
        if name not in self._option_string_actions:
            self.error(unknown("option", name, self._option_string_actions))

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            name = action.metavar or (action.option_strings or [action.dest])[-1].lstrip("-")
            said = name if isinstance(name, str) else " ".join(name)
            raise argparse.ArgumentError(
                None, unknown(said.lower().replace("_", " "), str(value), map(str, action.choices))
            )


def _missing(listed: str) -> str:
    """Return a line about required arguments that are missing; their names have commas between them."""
    names = listed.split(", ")
    kind = "option" if all(name.startswith("-") for name in names) else "argument"
    return f"missing {kind}{'s' * (len(names) > 1)} {listed}"


# ---- Errors ----


def what_is_wrong(error: Exception) -> str | None:
    """Return the error line: what is wrong, where, and what to do. Return None for an internal error."""
    if isinstance(error, MemoryError):
        return "not enough memory: end other programs, or give smaller files or fewer images"
    if isinstance(error, OSError):
        return f"{error.filename or 'standard output'}: {error.strerror or error}"
    return str(error) if isinstance(error, InputError) else None


def say(line: str) -> None:
    """Print one line on standard error; ignore an error, because the exit code reports the failure as well."""
    with suppress(OSError):
        print(one_line(line), file=sys.stderr, flush=True)


# ---- Types of arguments ----


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return the type of an argument: an integer of at least `least`, at most `most`."""
    bound = f"at least {least}" if most is None else f"{least} to {most}"

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r}: must be a whole number, {bound}") from None
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"{value}: must be {bound}")
        return value

    return convert


def minutes(text: str) -> float:
    """Return a time of 0 minutes or more."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number of minutes, 0 or more")
    return value


def file_name(text: str) -> Path:
    """Return the name of a file or folder, which may not exist yet."""
    if not text:
        raise argparse.ArgumentTypeError("is empty: name a file or a folder")
    return Path(text)
