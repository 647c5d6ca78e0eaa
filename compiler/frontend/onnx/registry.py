# SPDX-License-Identifier: Apache-2.0
"""All supported ONNX operators, by family: (domain, name) -> function that translates a Call to Operations."""

from eyrie.compiler.frontend.onnx import elementwise, movement, pooling, qlinear, weighted

ONNX, MICROSOFT = "ai.onnx", "com.microsoft"

TRANSLATORS = {
    **{
        (ONNX, name): translate
        for family in (weighted, elementwise, pooling, movement)
        for name, translate in family.OPERATORS.items()
    },
    **{(domain, name): translate for domain in (ONNX, MICROSOFT) for name, translate in qlinear.OPERATORS.items()},
    (MICROSOFT, "Gelu"): elementwise.OPERATORS["Gelu"],
}
