# SPDX-License-Identifier: Apache-2.0
"""Modules of TVM on the accelerator (docs/howto/tvm.md).

import eyrie.tvm
split = eyrie.tvm.partitioned(module, back_end="rtl")
print(eyrie.tvm.report(split))
ready = relax.transform.RunCodegen()(split)
"""

from eyrie.compiler.frontend.extra import require

require("tvm")
from eyrie.runtime.back_ends import BACK_ENDS  # noqa: E402
from eyrie.tvm.codegen import generate  # noqa: E402
from eyrie.tvm.diagrams import picture  # noqa: E402
from eyrie.tvm.partition import partitioned  # noqa: E402
from eyrie.tvm.report import InTVM, OnAccelerator, Report, report  # noqa: E402

__all__ = ["BACK_ENDS", "InTVM", "OnAccelerator", "Report", "generate", "partitioned", "picture", "report"]
