# SPDX-License-Identifier: Apache-2.0
"""The exceptions that separate a mistake in the input from a bug in Eyrie."""


class InputError(ValueError):
    """Eyrie rejects an input: a file, an argument, a network, an accelerator.

    The message is one line: the place, the cause, and the remedy. An exception of another type is a bug in Eyrie.
    """
