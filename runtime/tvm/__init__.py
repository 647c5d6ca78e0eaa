# SPDX-License-Identifier: Apache-2.0
"""Eyrie as a code generator of TVM (docs/tvm.md).

    partition   a Relax module whose supported parts are functions for the code generator
    codegen     relax.ext.eyrie, which puts calls of the machine in their place
    report      what runs where
    diagrams    the graph before and after
"""
