# SPDX-License-Identifier: Apache-2.0
"""Models of PyTorch on the accelerator (docs/howto/pytorch.md).

import eyrie.pytorch
model = eyrie.pytorch.quantized(float_model, images)
compiled = torch.compile(model, backend="eyrie")
outputs = compiled(images)
print(eyrie.pytorch.report(compiled))
"""

from eyrie.pytorch.backend import eyrie
from eyrie.pytorch.convert import quantized, to_tflite
from eyrie.pytorch.report import InPyTorch, OnAccelerator, Report, report, reports
from eyrie.runtime.back_ends import BACK_ENDS

__all__ = ["BACK_ENDS", "InPyTorch", "OnAccelerator", "Report", "eyrie", "quantized", "report", "reports", "to_tflite"]
