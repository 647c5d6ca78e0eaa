"""What all command lines share: a bad one is reported in one line."""

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Leaves out the usage, which --help prints; exit code 2."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.split()[-1].removesuffix(".py")
        self.exit(2, f"{name}: {message}; see --help\n")
