# SPDX-License-Identifier: Apache-2.0
"""What all command lines share: a bad one is reported in one line, with what may have been meant."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

from model.messages import unknown


class Parser(argparse.ArgumentParser):
    """Leaves out the usage, which --help prints; exit code 2."""

    def __init__(self, **options: object) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}; see --help\n")

    def parse_args(self, args: Sequence[str] | None = None, namespace: object = None) -> argparse.Namespace:
        options, surplus = self.parse_known_args(args, namespace)
        for word in surplus:
            if word.startswith("-"):
                self.error(unknown("option", word.split("=")[0], self._option_string_actions))
            self.error(f"{word}: one argument too many")
        return options

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            name = action.metavar or (action.option_strings or [action.dest])[-1].lstrip("-")
            raise argparse.ArgumentError(None, unknown(name.lower(), str(value), map(str, action.choices)))


def whole_number(least: int, most: int | None = None):
    """The type of an option: an integer of at least `least`, at most `most`."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least or (most is not None and value > most):
            bound = f"at least {least}" if most is None else f"{least} to {most}"
            raise argparse.ArgumentTypeError(f"{value}: must be {bound}")
        return value

    return convert
