# SPDX-License-Identifier: Apache-2.0
"""LiteRT's interfaces on Eyrie: a program that runs a model with LiteRT runs it on Eyrie with one more line.

Interpreter  stands in the place of LiteRT's Interpreter
delegate     runs the graph of LiteRT's Interpreter; programs in other languages load it as well
"""

from eyrie.litert.external import delegate
from eyrie.litert.interpreter import Interpreter

__all__ = ["Interpreter", "delegate"]
