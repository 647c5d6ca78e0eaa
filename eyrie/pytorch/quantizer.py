# SPDX-License-Identifier: Apache-2.0
"""The choice of scales for a model: a Quantizer of PT2E, the quantisation of PyTorch's exported models.

Weights have a scale for each output channel and no zero point. Activations have one scale and a zero point. All are
int8, as in TensorFlow Lite. Operators that the accelerator fuses are quantised as one: an activation after a
convolution or a sum has no scale at its input. Data-movement operators keep the scale of their values.
"""

from dataclasses import replace

import torch
from torch.fx import GraphModule, Node

from eyrie.compiler.frontend.extra import require
from eyrie.compiler.frontend.pytorch.call import short
from eyrie.compiler.frontend.pytorch.operators import FIXED_SCALES, KEEP_SCALE, translation
from eyrie.compiler.operators.float_functions import Identity
from eyrie.compiler.operators.registry import names, records

for _package in ("torchao.quantization.pt2e", "torchao.quantization.pt2e.quantizer"):
    require(_package, "pytorch")
from torchao.quantization.pt2e import HistogramObserver, PerChannelMinMaxObserver  # noqa: E402
from torchao.quantization.pt2e.quantizer import (  # noqa: E402
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)

SMALLEST = 2**-12  # scale, so that a constant map has one
_TRANSPOSED = ("conv_transpose1d", "conv_transpose2d")
_WEIGHTED = ("conv1d", "conv2d", *_TRANSPOSED, "linear")
_FUSE = (*_WEIGHTED, "batch_norm", "add", "sub", "mul")  # operators that can fuse a clamp
_CLAMPS = ("relu", "relu6", "hardtanh", "clamp", "clamp_min")
_MOVES = tuple(name for record in records() if record.moves for name in names(record, "aten") if name not in KEEP_SCALE)
_IDLE = names(Identity, "aten")

ACTIVATION = QuantizationSpec(
    dtype=torch.int8,
    quant_min=-128,
    quant_max=127,
    qscheme=torch.per_tensor_affine,
    observer_or_fake_quant_ctr=HistogramObserver.with_args(eps=SMALLEST),
)
WEIGHT = QuantizationSpec(
    dtype=torch.int8,
    quant_min=-127,
    quant_max=127,
    qscheme=torch.per_channel_symmetric,
    ch_axis=0,
    observer_or_fake_quant_ctr=PerChannelMinMaxObserver.with_args(eps=SMALLEST),
)


class EyrieQuantizer(Quantizer):
    """The quantizer of all operators that the accelerator can run. The others stay in float."""

    def annotate(self, model: GraphModule) -> GraphModule:
        for node in model.graph.nodes:
            if node.op == "call_function" and _is_quantised(node):
                node.meta["quantization_annotation"] = _annotation(node)
            elif node.op == "placeholder" and any(_joins(reader, node) for reader in node.users):
                node.meta["quantization_annotation"] = QuantizationAnnotation(output_qspec=ACTIVATION, _annotated=True)
        return model

    def validate(self, model: GraphModule) -> None:
        """Accept every model."""


def _annotation(node: Node) -> QuantizationAnnotation:
    inputs = {each: _input(node, each) for each in node.all_input_nodes if _is_activation(each)}
    if _is_clamp_behind(node):
        inputs = {}
    if _name(node) in _WEIGHTED:
        weight = node.args[1]
        assert isinstance(weight, Node)
        inputs[weight] = replace(WEIGHT, ch_axis=1) if _name(node) in _TRANSPOSED else WEIGHT
    return QuantizationAnnotation(input_qspec_map=inputs, output_qspec=_output(node, list(inputs)), _annotated=True)


def _input(node: Node, source: Node) -> object:
    """Return the scale of a node's input: the scale of its producer, if that has one."""
    made = "quantization_annotation" in source.meta and source.meta["quantization_annotation"].output_qspec
    first = next(each for each in node.all_input_nodes if _is_activation(each))
    if _name(node) in _MOVES and source is not first:
        return SharedQuantizationSpec((first, node))
    return SharedQuantizationSpec(source) if made else ACTIVATION


def _output(node: Node, inputs: list[Node]) -> object:
    """Return the scale of a node's output, or None if a clamp follows."""
    if any(_is_clamp_behind(reader) for reader in node.users):
        return None
    if _name(node) in FIXED_SCALES:
        scale, zero_point = FIXED_SCALES[_name(node)]
        return FixedQParamsQuantizationSpec(
            dtype=torch.int8,
            scale=scale,
            zero_point=zero_point,
            quant_min=-128,
            quant_max=127,
            qscheme=torch.per_tensor_affine,
        )
    return SharedQuantizationSpec((inputs[0], node)) if _name(node) in _MOVES else ACTIVATION


def _is_quantised(node: Node) -> bool:
    return (
        translation(node.target) is not None
        and _name(node) not in (*KEEP_SCALE, *_IDLE)
        and (_name(node) != "softmax" or any(map(_is_quantised, node.users)))  # the last one stays in float
        and _is_activation(node)
        and any(_is_activation(each) for each in node.all_input_nodes)
    )


def _is_clamp_behind(node: Node) -> bool:
    """Return whether a clamp is the only reader of an operator that can fuse it."""
    if _name(node) not in _CLAMPS or not isinstance(node.args[0], Node):
        return False
    source = node.args[0]
    return _name(source) in _FUSE and len(source.users) == 1 and _is_quantised(source)


def _joins(node: Node, source: Node) -> bool:
    """Return whether an operator that keeps the scale of its first operand has this one behind it."""
    operands = [each for each in node.all_input_nodes if _is_activation(each)]
    return node.op == "call_function" and _name(node) in _MOVES and source in operands[1:]


def _is_activation(node: Node) -> bool:
    value = node.meta.get("val")
    return (
        node.op in ("placeholder", "call_function")
        and isinstance(value, torch.Tensor)
        and value.dtype == torch.float32
        and value.dim() > 0
    )


def _name(node: Node) -> str:
    return short(node).removesuffix("_")
