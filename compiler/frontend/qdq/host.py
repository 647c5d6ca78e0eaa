# SPDX-License-Identifier: Apache-2.0
"""Rules of operators that run on the host."""

from eyrie.compiler.frontend.qdq import functions
from eyrie.compiler.frontend.qdq.fold import Fold, Rule
from eyrie.compiler.frontend.qdq.moves import CHANNELS_LAST, FROM_CHANNELS_LAST
from eyrie.compiler.frontend.qdq.values import Held, Made, Target
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators.host import ResizeBilinear, Softmax
from eyrie.compiler.ir.operators.operator import axis_of
from eyrie.model.operators.host import SOFTMAX_OUTPUT


def _softmax(fold: Fold, made: Made, target: Target) -> Held:
    """Return a softmax in the operator's fixed scale, then rescaled to the target."""
    if target.quantization.scale < SOFTMAX_OUTPUT.scale * 0.95:
        raise Unsupported(f"its result has a scale of {target.quantization.scale:g}, must be 1 / 256 or more")
    source, rank = fold.operand(made.inputs[0]), len(made.shape)
    axis = axis_of(made.operation.integer("axis"), rank)
    order = (*(n for n in range(rank) if n != axis), axis)
    axes = tuple(order.index(n) for n in range(rank))
    tensor = fold.ordered(source, order, made.operation.where)
    plain = Target(SOFTMAX_OUTPUT, target.name if target.quantization == SOFTMAX_OUTPUT else made.name)
    held = fold.node(made.operation.where, Softmax(), (tensor,), tensor.shape, axes, plain)
    return functions.rescaled(fold, made.operation, held, target)


def _resize_bilinear(fold: Fold, made: Made, target: Target) -> Held:
    """Return the interpolated codes in the scale of the input, then rescaled to the target."""
    operation = made.operation
    source = fold.operand(made.inputs[0])
    tensor = fold.ordered(source, CHANNELS_LAST, operation.where)
    rows, columns = operation.integers("size")
    operator = ResizeBilinear(
        size=(rows, columns),
        align_corners=operation.flag("align_corners"),
        half_pixel_centers=operation.flag("half_pixel"),
    )
    shape = tuple(made.shape[axis] for axis in CHANNELS_LAST)
    held = fold.node(
        operation.where, operator, (tensor,), shape, FROM_CHANNELS_LAST, Target(source.quantization, made.name)
    )
    return functions.rescaled(fold, operation, held, target)


RULES: dict[str, Rule] = {
    "softmax": functions.clamped(_softmax),
    "resize_bilinear": functions.clamped(_resize_bilinear),
}
