# SPDX-License-Identifier: Apache-2.0
"""The exceptions that tell a mistake in the input from a fault of Eyrie."""


class InputError(ValueError):
    """Eyrie rejects an input: a file, an argument, a network, an accelerator.

    The message is one line: what, where, and what to do about it. An exception of another type is a fault of Eyrie.
    """
