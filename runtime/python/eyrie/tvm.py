# SPDX-License-Identifier: Apache-2.0
"""Modules of TVM on the machine (docs/tvm.md).

    import eyrie.tvm
    split = eyrie.tvm.partitioned(module, back_end="rtl")
    print(eyrie.tvm.report(split))
    ready = relax.transform.RunCodegen()(split)
"""

from runtime.regions import BACK_ENDS
from runtime.tvm.codegen import generate
from runtime.tvm.diagrams import picture
from runtime.tvm.partition import partitioned
from runtime.tvm.report import InTVM, OnMachine, Report, report

__all__ = ["BACK_ENDS", "InTVM", "OnMachine", "Report", "generate", "partitioned", "picture", "report"]
