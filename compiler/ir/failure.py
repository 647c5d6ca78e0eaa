# SPDX-License-Identifier: Apache-2.0
"""Why a network is not compiled."""

from compiler.ir.buffer import Buffer


class DoesNotFit(ValueError):
    """The GLB has no room; the message names demand and bound. buffer: for which there is none, if it is one."""

    buffer: "Buffer | None" = None


class Unsupported(ValueError):
    """The network has a combination that the machine does not run; the message is one line."""
