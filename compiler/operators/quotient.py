# SPDX-License-Identifier: Apache-2.0
"""Division of two tensors."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Tensors, quantizations
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.operators.chains import Chain, Nodes, covering, ends_of, positive
from eyrie.compiler.operators.elementwise import Mul
from eyrie.compiler.operators.lookup import Lookup
from eyrie.compiler.operators.record import PPU, Row
from eyrie.model.operators.host import quantize
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.tables import VALUES

POWERS = 7  # of 2: int8 holds -(2^7) to -1


@dataclass(frozen=True, kw_only=True)
class Quotient(Chain):
    """A division of two tensors, a / b, which are broadcast.

    Let d = q - zero_point of b, and 2^k <= abs(d) < 2^(k + 1). The reciprocal of b is the product of a factor,
    f = -(2^k) / d (-1 to 1), and a power, p = -(2^-k) / scale of b. Both are lookup tables; a table of the reciprocals
    would have few levels for large b. a / b is MUL(MUL(a, f), p). The scales of f and of MUL(a, f) cover all values
    that these can have; the int8 values of p are -(2^(7 - k)). A divisor of 0 counts as d = 1, which is the scale of b.

    The result differs from the real quotient by at most 1 % of the quotient, 1.5 steps of MUL(a, f) divided by b, and a
    step of the output.
    """

    row = Row("division of two tensors", PPU)
    library = "eyrie_arithmetic"
    name = "DIV"

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        return Mul().infer(inputs)

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return the two tables, and two MULs."""
        (dividend, divisor), (output,), nodes = node.inputs, node.outputs, Nodes(node)
        scale, given = quantizations(dividend, divisor)
        distances = VALUES - given.zero_point
        distances[distances == 0] = 1
        exponents = np.frexp(abs(distances))[1] - 1
        factors, powers = -(2.0**exponents) / distances, -(2 ** (POWERS - exponents))
        reach = factors.min(), factors.max()
        ends = [factor * end for factor in reach for end in ends_of(scale)]
        factor_scale, part_scale = covering(*reach), covering(min(ends), max(ends))
        power_scale = Quantization(positive("the scale of the powers", 2.0**-POWERS / given.scale), 0)
        factor = nodes.add(Lookup(entries=quantize(factors, factor_scale)), "factors", factor_scale, divisor)
        power = nodes.add(Lookup(entries=powers.astype(np.int8)), "powers", power_scale, divisor)
        part = nodes.add(Mul(), "part", part_scale, dividend, factor, shape=output.shape)
        nodes.end(Mul(), output, part, power)
        return nodes.all()
