# SPDX-License-Identifier: Apache-2.0
"""The functional simulator, which executes each command at once."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from eyrie.compiler.artefact.network import AcceleratorSubgraph
from eyrie.model.errors import InputError
from eyrie.model.functional_simulator import ProgramError
from eyrie.runtime.back_end import AcceleratorBackEnd, AcceleratorRun
from eyrie.runtime.networks import named_on_model

_AGAIN = "compile the network again"


class Functional(AcceleratorBackEnd):
    """The functional simulator. It has no counters."""

    about = "the functional simulator"

    def run_program(self, program: AcceleratorSubgraph, inputs: dict[str, np.ndarray]) -> AcceleratorRun:
        """Raise InputError, with one line, if the simulator cannot run the program."""
        with reported_errors(program.place):
            return AcceleratorRun(program.image, named_on_model(program.image, inputs), [])


@contextmanager
def reported_errors(place: str) -> Iterator[None]:
    """Turn an error of the functional simulator into an InputError of one line that begins with the place."""
    try:
        yield
    except ProgramError as error:
        raise InputError(f"{place}: {error}: {_AGAIN}") from error
    except InputError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # damaged commands
        raise InputError(f"{place}: a damaged program: {_AGAIN}") from error
