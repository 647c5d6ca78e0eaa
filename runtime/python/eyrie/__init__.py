# SPDX-License-Identifier: Apache-2.0
"""Eyrie as a library: networks on the simulated machine, on its model, or as C (docs/library.md).

    import eyrie
    session = eyrie.load("net.tflite", back_end="rtl")
    outputs = session("photo.png")
"""

from eyrie.session import BACK_ENDS, Port, Session, load

__all__ = ["BACK_ENDS", "Port", "Session", "load"]
